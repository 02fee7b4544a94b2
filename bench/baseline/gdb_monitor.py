"""A monitor in gdb's Python, as the paper describes it: the baseline of `make bench`.

    BENCH_PROPERTY=queue.prop BENCH_REPORT=out.json gdb -nx -batch -x gdb_monitor.py --args ./program ...

It reads the same property files as Verde (calls and returns; `slice on` one parameter). One breakpoint
for each function that some state in use waits for, made and deleted as the states change; arguments by
`read_var` (`arg i` from its register); guards and code are compiled once and run by `exec`; slices are
in a dictionary; after-events come from a `FinishBreakpoint` for each call.
BENCH_STATIC=1 sets the breakpoints of all events, whatever the states.
"""

import json
import os
import re

import gdb

REGISTERS = ("$rdi", "$rsi", "$rdx", "$rcx", "$r8", "$r9")


class Reader:
    """The property language, as far as the experiments use it."""

    TOKEN = re.compile(r"\s*(#[^\n]*\n|[\w-]+|[^\w\s])")

    def __init__(self, text):
        self.text = text
        self.at = 0

    def peek(self):
        while True:
            match = self.TOKEN.match(self.text, self.at)
            if not match:
                return None
            if not match.group(1).startswith("#"):
                return match.group(1)
            self.at = match.end()

    def next(self):
        token = self.peek()
        if token is not None:
            self.at = self.TOKEN.match(self.text, self.at).end()
        return token

    def take(self, token):
        if self.peek() == token:
            return self.next()

    def expect(self, token):
        if not self.take(token):
            raise ValueError("%r expected before %r" % (token, self.text[self.at : self.at + 30]))

    def block(self):
        """The text between braces, which may be nested."""
        self.expect("{")
        start, depth = self.at, 1
        while depth:
            depth += {"{": 1, "}": -1}.get(self.text[self.at], 0)
            self.at += 1
        return dedent(self.text[start : self.at - 1])


def dedent(code):
    lines = [l for l in code.expandtabs(4).split("\n") if l.strip()]
    if len(lines) == 1:
        return lines[0].strip()
    margin = min(len(l) - len(l.lstrip()) for l in lines)
    return "\n".join(l[margin:] for l in lines)


class Block:
    """Python code over the parameters and the environment of a slice."""

    def __init__(self, code):
        self.returns = re.search(r"\breturn\b", code) is not None
        if self.returns:
            names = re.findall(r"(?m)^\s*(\w+)\s*=[^=]", code)
            body = "".join("\n    " + l for l in code.split("\n"))
            scope = "\n    global " + ", ".join(names) if names else ""
            code = "def guard():%s%s\nresult = guard()" % (scope, body)
        self.code = compile(code, "<property>", "exec")

    def run(self, env, args):
        names = dict(env)
        names.update(args)
        exec(self.code, names)
        for name in env:
            env[name] = names[name]
        return names["result"] if self.returns else True


class Transition:
    pass


class Property:
    def __init__(self, text):
        r = Reader(text)
        self.slice, self.initial, self.states, self.accepting = None, None, {}, {}
        while r.peek():
            word = r.next()
            if word == "slice":
                r.expect("on")
                self.slice = r.next()
            elif word == "initialization":
                self.initial = r.block().replace(";", "\n")
            elif word == "state":
                self.state(r)
            else:
                raise ValueError("unexpected %r" % word)
        self.initial = compile("\n".join(l.strip() for l in (self.initial or "").split("\n")), "<initialization>", "exec")

    def state(self, r):
        name = r.next()
        self.accepting[name] = True
        while r.peek() in ("accepting", "non-accepting"):
            self.accepting[name] = r.next() == "accepting"
        self.states[name] = transitions = []
        if r.take("{"):
            while not r.take("}"):
                r.expect("transition")
                r.expect("{")
                transitions.append(self.transition(r))
                r.expect("}")

    def transition(self, r):
        t = Transition()
        t.after = bool(r.take("after"))
        r.take("before")
        r.expect("event")
        t.function = r.next()
        t.params = []
        r.expect("(")
        while not r.take(")"):
            t.params.append(self.param(r))
            r.take(",")
        t.guard = Block(r.block()) if r.peek() == "{" else None
        t.outcomes = {}
        while r.peek() in ("success", "failure"):
            outcome = r.next() == "success"
            code = Block(r.block()) if r.peek() == "{" else None
            t.outcomes[outcome] = (code, r.next())
        t.event = (t.function, t.after)
        return t

    def param(self, r):
        what = r.next()
        source = what
        if what == "arg":
            source = int(r.next())
            what = "arg%d" % source
        if r.take("as"):
            what = r.next()
        if r.take(":"):
            r.next()
        return (what, source)

    def environment(self):
        env = {}
        exec(self.initial, env)
        env.pop("__builtins__", None)
        return env


class Slice:
    def __init__(self, state, env):
        self.state, self.env = state, env


class Monitor:
    def __init__(self, prop, static):
        self.prop, self.static = prop, static
        self.root = Slice("init", prop.environment())
        self.slices = {}
        self.counts = {"init": 1}
        self.breakpoints = {}
        self.params = {}
        for transitions in prop.states.values():
            for t in transitions:
                known = self.params.setdefault(t.event, [])
                known += [p for p in t.params if p not in known]
        self.events = self.violations = 0
        self.known, self.stale = False, True

    def wanted(self):
        """The functions that some state in use (or any state) waits for."""
        functions = set()
        for state, transitions in self.prop.states.items():
            if self.static or self.counts.get(state, 0):
                functions.update(t.function for t in transitions)
        return functions

    def instrument(self):
        self.stale = False
        wanted = self.wanted()
        for function in set(self.breakpoints) - wanted:
            self.breakpoints.pop(function).delete()
        for function in wanted - set(self.breakpoints):
            self.breakpoints[function] = EventBreakpoint(self, function)

    def count(self, state):
        before = self.counts.get(state, 0)
        self.counts[state] = before + 1
        self.stale |= not before

    def leave(self, state):
        self.counts[state] -= 1
        self.stale |= not self.counts[state]

    def happen(self, event, args):
        """Every slice that the event concerns takes its step."""
        self.known = False
        key = args.get(self.prop.slice)
        if self.prop.slice is None:
            self.step(self.root, event, args)
        elif key is None:
            for slice in list(self.slices.values()):
                self.step(slice, event, args)
        elif key in self.slices:
            self.step(self.slices[key], event, args)
        else:
            born = Slice("init", dict(self.root.env))
            self.count("init")
            if self.step(born, event, args):
                self.slices[key] = born
            else:
                self.leave(born.state)
        self.events += self.known
        # Breakpoints must not be made or deleted while gdb asks one whether to stop.
        return self.stale and not self.static

    def step(self, slice, event, args):
        for t in self.prop.states[slice.state]:
            if t.event != event:
                continue
            self.known = True
            outcome = t.guard.run(slice.env, args) if t.guard else True
            if outcome is None or bool(outcome) not in t.outcomes:
                continue
            code, state = t.outcomes[bool(outcome)]
            if code:
                code.run(slice.env, args)
            if state != slice.state:
                self.leave(slice.state)
                self.count(state)
                slice.state = state
            if not self.prop.accepting[state] and not self.prop.states[state]:
                self.violations += 1
            return True
        return False


def value(frame, source):
    read = gdb.parse_and_eval(REGISTERS[source]) if isinstance(source, int) else frame.read_var(source)
    return int(read)


def returned(value):
    """Without debug information gdb knows no type: what the register holds, as an int."""
    if value is not None:
        return int(value)
    word = int(gdb.parse_and_eval("$eax"))
    return word - (1 << 32) if word >> 31 else word


class EventBreakpoint(gdb.Breakpoint):
    def __init__(self, monitor, function):
        super().__init__(function, gdb.BP_BREAKPOINT, internal=True)
        self.silent = True
        self.monitor, self.function = monitor, function

    def stop(self):
        monitor, stale = self.monitor, False
        before, after = (self.function, False), (self.function, True)
        frame = gdb.selected_frame()
        if after in monitor.params:
            args = {n: value(frame, s) for n, s in monitor.params[after] if s != "ret"}
            ReturnBreakpoint(monitor, after, frame, args)
        if before in monitor.params:
            args = {n: value(frame, s) for n, s in monitor.params[before]}
            stale = monitor.happen(before, args)
        return stale


class ReturnBreakpoint(gdb.FinishBreakpoint):
    def __init__(self, monitor, event, frame, args):
        super().__init__(frame, internal=True)
        self.silent = True
        self.monitor, self.event, self.args = monitor, event, args

    def stop(self):
        args = self.args
        for name, source in self.monitor.params[self.event]:
            if source == "ret":
                args[name] = returned(self.return_value)
        return self.monitor.happen(self.event, args)


def main():
    for setting in (
        "pagination off",
        "confirm off",
        "width 0",
        "print thread-events off",
        "breakpoint pending on",
        "debuginfod enabled off",
    ):
        gdb.execute("set " + setting)
    for signal in ("SIGPIPE", "SIGUSR1", "SIGALRM"):
        gdb.execute("handle %s nostop noprint pass" % signal, to_string=True)
    with open(os.environ["BENCH_PROPERTY"]) as f:
        monitor = Monitor(Property(f.read()), bool(os.environ.get("BENCH_STATIC")))
    monitor.instrument()
    step = "run"
    while True:
        try:
            gdb.execute(step, to_string=True)
        except gdb.error:
            # gdb may lose a process whose threads end together; what it saw until then counts.
            if os.path.exists("/proc/%d" % gdb.selected_inferior().pid):
                raise
            break
        if not gdb.selected_inferior().pid:
            break
        monitor.instrument()
        step = "continue"
    with open(os.environ["BENCH_REPORT"], "w") as f:
        json.dump({"events": monitor.events, "violations": monitor.violations, "slices": len(monitor.slices)}, f)


main()
