"""Times gdb's checkpoint and restart: `gdb -x` this, with ROUNDS set."""
import os
import time

import gdb


def timed(command):
    start = time.perf_counter()
    gdb.execute(command, to_string=True)
    return (time.perf_counter() - start) * 1e3


gdb.execute("set pagination off")
gdb.execute("set confirm off")
gdb.execute("break mark", to_string=True)
gdb.execute("run", to_string=True)
saved, restored = [], []
for number in range(1, int(os.environ["ROUNDS"]) + 1):
    saved.append(timed("checkpoint"))
    gdb.execute("continue", to_string=True)
    restored.append(timed(f"restart {number}"))


def median(values):
    return sorted(values)[len(values) // 2]


print(f"RESULT {median(saved)} {median(restored)}")
gdb.execute("kill")
