"""Functions for queue.prop: what happens when a queue reaches its sink."""


def sink_reached(monitor, slice):
    print("queue %#x is broken" % slice["queue"])
