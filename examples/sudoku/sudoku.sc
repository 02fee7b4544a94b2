# Keeps the last good state. When a digit clashes, goes back to it and watches
# all cells; each write to one is a stop, with a checkpoint to come back to.
initialization { last = None }
on entering accepting state { last = checkpoint() }
on entering non-accepting state {
    if last is not None:
        c = last
        last = None
        restore_checkpoint(c)
        for i in range(81): set_watchpoint("puzzle.cells[%d]" % i, "w")
}
on watchpoint {
    checkpoint()
    stop()
}
