initialization { last = None }
on entering accepting state { last = checkpoint() }
on entering non-accepting state {
    if last is not None:
        c = last; last = None
        restore_checkpoint(c)
        for i in range(81): set_watchpoint("board->cells[%d]" % i, "w")
}
on watchpoint { checkpoint() }
