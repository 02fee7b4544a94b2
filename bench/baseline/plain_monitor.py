"""The queue property as one would write it by hand: json.loads and a dict.

The baseline of `make bench-monitor`. Prints the number of events and of
queues that overflowed or underflowed.
"""

import json
import sys

queues = {}
events = violations = 0
with open(sys.argv[1]) as trace:
    for line in trace:
        event = json.loads(line)
        name = event["event"]
        args = event["args"]
        if name == "queue_new":
            queues.setdefault(args["queue"], ["queue_ready", 0, args["size"] - 1])
        elif name == "queue_push":
            q = queues.get(args["queue"])
            if q is not None and q[0] == "queue_ready":
                if q[1] < q[2]:
                    q[1] += 1
                else:
                    q[0] = "sink"
                    violations += 1
        elif name == "queue_pop":
            q = queues.get(args["queue"])
            if q is not None and q[0] == "queue_ready":
                if q[1] > 0:
                    q[1] -= 1
                else:
                    q[0] = "sink"
                    violations += 1
        events += 1
print(events, violations)
