"""Producers and consumers in CPython threads; checks itself.

Writes marks while it works, and then until its input is at its end."""
import hashlib
import os
import queue
import threading
import time

# So many that it is still at work when somebody who is late looks at it.
EACH = 6000
jobs = queue.Queue(50)
results = []
lock = threading.Lock()
# Nobody works before all are there: the saved program has all its threads.
ready = threading.Barrier(9)


def mark():
    os.write(1, b".")


def at_end():
    try:
        return os.read(0, 1) == b""
    except BlockingIOError:
        return False


def digest(job):
    return hashlib.sha256(repr(job).encode() * 2000).hexdigest()


def produce(k):
    ready.wait()
    for i in range(EACH):
        jobs.put((k, i))


def consume():
    ready.wait()
    while (job := jobs.get()) is not None:
        value = digest(job)
        with lock:
            results.append((job, value))
        if job[1] % 20 == 0:
            mark()


producers = [threading.Thread(target=produce, args=(k,)) for k in range(3)]
consumers = [threading.Thread(target=consume) for _ in range(6)]
for thread in producers + consumers:
    thread.start()
for thread in producers:
    thread.join()
for _ in consumers:
    jobs.put(None)
for thread in consumers:
    thread.join()
while not at_end():
    mark()
    time.sleep(0.001)
print()
print(len(set(results)) == 3 * EACH and all(digest(j) == v for j, v in results))
