# Counts how often the 42 came back.
initialization { back = 0 }
on changing state init { back = back + 1 }
on exit { print("42 came back %d times" % back) }
