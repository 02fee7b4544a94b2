# Stops where a queue breaks, and says how many events it saw until then.
initialization { changes = 0 }
on entering accepting state { changes = changes + 1 }
on entering state sink {
    print("the queue breaks after %d good operations" % changes)
    stop()
}
