initialization { last = None; again = False; hits = 0 }
on entering state loading { last = last if again else checkpoint() }
on entering non-accepting state {
    if not again:
        again = True
        restore_checkpoint(last)
        for i in range(81): set_watchpoint("board.cells[%d]" % i, "w")
}
on watchpoint {
    hits = hits + 1
    checkpoint()
}
on exit { print("hits", hits) }
