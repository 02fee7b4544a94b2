# The graph of lock_order.prop: `after` has for each mutex those that were asked
# for while it was held, `held` for each thread what it holds.


def keeps_order(after, held, m, tid):
    mine = held.setdefault(tid, [])
    ok = not any(h != m and reaches(after, m, h) for h in mine)
    for h in mine:
        if h != m:
            after.setdefault(h, set()).add(m)
    mine.append(m)
    return ok


def is_alone(after, held, m, tid):
    keeps_order(after, held, m, tid)
    return not after


def reaches(after, start, goal):
    seen, todo = {start}, [start]
    while todo:
        for m in after.get(todo.pop(), ()):
            if m == goal:
                return True
            if m not in seen:
                seen.add(m)
                todo.append(m)
    return False


def taken(held, m, tid, result):
    # Who tries does not wait: it can block nobody, but holds it from now on.
    if result == 0:
        held.setdefault(tid, []).append(m)


def released(held, m, tid):
    mine = held.get(tid, [])
    if m in mine:
        mine.remove(m)


def forgotten(after, low, high):
    gone = {m for m in after if low <= m < high}
    for m in gone:
        del after[m]
    for others in after.values():
        others.difference_update([m for m in others if low <= m < high])
