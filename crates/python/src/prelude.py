"""What the plugin needs of Python, written in Python: compiling blocks, deep
copies, JSON, tracebacks, the interruption of endless blocks."""

import ast
import builtins
import copy
import copyreg
import inspect
import json
import linecache
import math
import os
import signal
import sys
import traceback
import types


class BlockTimeout(BaseException):
    """A block ran longer than allowed. Not an Exception, so that `except
    Exception` in the block does not swallow it."""


_leave = os._exit
_home = os.getpid()


def _exit(status):
    """`os._exit` of a block would end the debugger, and with it the program; a
    child that a block made by fork ends as it wants to."""
    if os.getpid() == _home:
        raise SystemExit(status)
    _leave(status)


os._exit = _exit


# In a traceback it is what the reader calls it, not a name of this file.
BlockTimeout.__module__ = "builtins"


# Functions files run in this namespace, and it is the builtins of every block:
# what a function does to its globals the blocks see at once.
functions = dict(vars(builtins))
functions["__builtins__"] = builtins
functions["__name__"] = "functions"


gdb = types.ModuleType("gdb", "The debugger, as far as blocks can ask it.")


class _Error(RuntimeError):
    pass


_Error.__name__ = _Error.__qualname__ = "error"
_Error.__module__ = "gdb"
gdb.error = _Error
sys.modules["gdb"] = gdb
functions["gdb"] = gdb


def connect(ask, owner, borrow, cell):
    """`ask` puts a question to the debugger; `owner` tells whose code runs;
    `borrow` and `cell` turn values of slices into Python's and back."""
    global _upcall, _owner, _borrow, _cell
    _upcall, _owner, _borrow, _cell = ask, owner, borrow, cell


def _ask(what, **args):
    try:
        asked = json.dumps(args, default=_plain, allow_nan=False)
    except ValueError:
        asked = json.dumps(_named_floats(args))
    ok, text = _upcall(what, asked)
    if not ok:
        raise gdb.error(text)
    return json.loads(text, object_hook=_float) if text else None


# JSON has no word for these; the debugger calls them by name. Each is one object, so that
# `in` finds also a NaN again.
_FLOATS = {name: float(name) for name in ("nan", "inf", "-inf")}


def _float(found):
    return _FLOATS[found["$float"]] if "$float" in found else found


def _named_floats(value):
    if isinstance(value, dict):
        return {k: _named_floats(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_named_floats(v) for v in value]
    if not isinstance(value, (str, int, float, type(None))):
        value = _plain(value)
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": repr(float(value))}
    return value


def _plain(value):
    """A value of the program or an odd key, as JSON can have it."""
    number = getattr(value, "_number", None)
    return repr(value) if number is None else number


# A module has no copy: children share it with their parents.
copyreg.pickle(types.ModuleType, lambda m: m.__name__)


def start(write, expired, number):
    """`write` takes what blocks print; `expired` tells whether the block that
    runs now is the one that the signal is meant for."""

    class Out:
        encoding = "utf-8"
        errors = "strict"

        def write(self, text):
            write(text)
            return len(text)

        def flush(self):
            pass

        def isatty(self):
            return False

        def writable(self):
            return True

    sys.stdout = Out()
    sys.argv = ["verde"]

    def handler(signum, frame):
        limit = expired()
        if limit:
            raise BlockTimeout("%s did not end within %g s (--block-timeout)" % (_running, limit / 1000))

    signal.signal(number, handler)


# What the signal interrupts, as the reader calls it.
_running = "the block"


def run_functions(file, text):
    global _running
    functions["__file__"] = file
    folder = os.path.dirname(os.path.abspath(file))
    if folder not in sys.path:
        sys.path.insert(0, folder)
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    _running = "the functions file"
    try:
        exec(compile(text, file, "exec"), functions)
    finally:
        _running = "the block"


def make_env():
    return {"__builtins__": functions, "__name__": "property"}


def compile_block(env, name, file, text, lines, shifts, params, assigned):
    """The block as a function of the event's parameters; the names that it
    assigns are globals, and those are the slice's environment."""
    try:
        tree = ast.parse(text, file)
    except SyntaxError as e:
        # At its place in the property's file.
        if e.lineno is not None and 0 < e.lineno <= len(lines):
            e.offset = (e.offset or 1) + shifts[e.lineno - 1]
            e.lineno = lines[e.lineno - 1]
            e.end_lineno = e.end_offset = None
            e.text = None
        raise
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            node.col_offset += shifts[node.lineno - 1]
            node.lineno = lines[node.lineno - 1]
        if getattr(node, "end_lineno", None) is not None:
            node.end_col_offset += shifts[node.end_lineno - 1]
            node.end_lineno = lines[node.end_lineno - 1]
    first = tree.body[0]
    if assigned:
        tree.body.insert(0, ast.copy_location(ast.Global(names=list(assigned)), first))
    shell = ast.parse("def f(%s): pass" % ", ".join(params))
    function = shell.body[0]
    function.name = name
    function.body = tree.body
    ast.copy_location(function, first)
    for node in ast.walk(function.args):
        if hasattr(node, "lineno"):
            ast.copy_location(node, first)
    ast.fix_missing_locations(shell)
    code = compile(shell, file, "exec")
    inner = next(c for c in code.co_consts if isinstance(c, types.CodeType))
    return types.FunctionType(inner, env)


ACTIONS = []


def has_action(name):
    function = functions.get(name)
    if function in ACTIONS:
        return False
    return callable(function) and function is not getattr(builtins, name, None)


def call_action(name, slice):
    function = functions[name]
    try:
        takes = [
            p
            for p in inspect.signature(function).parameters.values()
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
    except (TypeError, ValueError):
        takes = []
    needed = [p for p in takes if p.default is p.empty]
    if 2 in (len(takes), len(needed)):
        function(functions["monitor"], slice)
    else:
        function()


def deep_copy(values):
    return copy.deepcopy(values)


def to_json(value):
    try:
        return json.dumps(value, default=repr, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(repr(value))


def from_json(text):
    return json.loads(text)


def describe(error, tb):
    """The last line and the whole traceback, without the frames of this file."""
    ours = describe.__code__.co_filename
    whole = traceback.TracebackException(type(error), error, tb)
    frames = [f for f in whole.stack if f.filename not in (ours, ast.__file__)]
    whole.stack = traceback.StackSummary.from_list(frames)
    last = traceback.format_exception_only(type(error), error)[-1].strip()
    return last, "".join(whole.format())


# ---- the debugger ----


class Value:
    """A value of the program, read when it was asked for."""

    def __init__(self, found):
        self._text = found["text"]
        self._number = found.get("number")
        self._string = found.get("string")
        self._lvalue = found.get("lvalue")
        self._is_pointer = found.get("pointer", False)
        self.type = found["type"]
        self.address = found.get("address")
        self.is_optimized_out = self._text == "<optimized out>"

    def _need(self):
        if self._number is None:
            raise gdb.error("not a number: %s" % self._text)
        return self._number

    def _sub(self, form):
        if self._lvalue is not None:
            return parse_and_eval(form % self._lvalue)
        # In a register: what it points to is in memory.
        if self._is_pointer and self._number is not None:
            return parse_and_eval(form % ("(%s) %d" % (self.type, self._number)))
        raise gdb.error("not in memory: %s" % self._text)

    def dereference(self):
        return self._sub("*(%s)")

    referenced_value = dereference

    def string(self, encoding=None, errors=None, length=-1):
        if self._string is None:
            raise gdb.error("not a string: %s" % self._text)
        return self._string if length < 0 else self._string[:length]

    def format_string(self, **options):
        return self._text

    def __getitem__(self, key):
        if isinstance(key, str):
            return self._sub("(%s)" + ("->" if self._is_pointer else ".") + key)
        return self._sub("(%%s)[%d]" % int(key))

    def __str__(self):
        return self._text

    def __repr__(self):
        return "<gdb.Value %s>" % self._text

    def __int__(self):
        return int(self._need())

    __index__ = __int__

    def __float__(self):
        return float(self._need())

    def __bool__(self):
        return bool(self._need())

    def __hash__(self):
        return hash(self._number if self._number is not None else self._text)

    def __eq__(self, other):
        if isinstance(other, str):
            return self._string == other
        return self._need() == getattr(other, "_number", other)

    def __neg__(self):
        return -self._need()

    def __invert__(self):
        return ~self._need()

    def __abs__(self):
        return abs(self._need())


def _numeric(name):
    def method(self, other):
        function = getattr(type(self._need()), name)
        return function(self._need(), getattr(other, "_number", other))

    method.__name__ = name
    return method


for _name in (
    "lt le gt ge add sub mul floordiv truediv mod pow and or xor lshift rshift "
    "radd rsub rmul rfloordiv rtruediv rmod rand ror rxor"
).split():
    setattr(Value, "__%s__" % _name, _numeric("__%s__" % _name))


class Symtab:
    def __init__(self, filename):
        self.filename = filename

    def __str__(self):
        return self.filename


class Sal:
    def __init__(self, line, filename):
        self.line = line
        self.symtab = Symtab(filename) if filename else None


class Frame:
    def __init__(self, found):
        self._found = found

    def name(self):
        return self._found["name"]

    def level(self):
        return self._found["level"]

    def pc(self):
        return self._found["pc"]

    def is_valid(self):
        return True

    def older(self):
        found = _ask("frame", level=self._found["level"] + 1)
        return Frame(found) if found else None

    def newer(self):
        level = self._found["level"]
        return Frame(_ask("frame", level=level - 1)) if level else None

    def read_var(self, name):
        found = _ask("eval", expression=str(name), level=self._found["level"], variable=True)
        return Value(found)

    def find_sal(self):
        return Sal(self._found.get("line") or 0, self._found.get("file"))

    def function(self):
        return self._found["name"]

    def __eq__(self, other):
        return isinstance(other, Frame) and self._found == other._found


class Thread:
    def __init__(self, found):
        self.num = self.global_num = found["num"]
        self.ptid = (found["pid"], found["tid"], 0)
        self.name = found["name"]

    def is_valid(self):
        return True


def execute(command, from_tty=False, to_string=False):
    """Runs a command of the prompt."""
    found = _ask("execute", command=str(command), capture=bool(to_string))
    if to_string:
        return found
    if found:
        print(found, end="" if found.endswith("\n") else "\n")


def parse_and_eval(expression):
    return Value(_ask("eval", expression=str(expression)))


def selected_frame():
    found = _ask("frame", level=None)
    if found is None:
        raise gdb.error("No frame is currently selected.")
    return Frame(found)


def selected_thread():
    found = _ask("thread")
    return Thread(found) if found else None


gdb.execute = execute
gdb.parse_and_eval = parse_and_eval
gdb.selected_frame = selected_frame
gdb.newest_frame = lambda: Frame(_ask("frame", level=0))
gdb.selected_thread = selected_thread
gdb.Value = Value
gdb.Frame = Frame
gdb.write = lambda text, *rest: sys.stdout.write(text)
gdb.flush = lambda *rest: None
for _each in (Value, Frame, Thread, Symtab, Sal, execute, parse_and_eval):
    _each.__module__ = "gdb"


# ---- monitors ----


class Leave(Exception):
    """Leaves the code that asked for it."""


class StopExecution(Leave):
    pass


class DebuggerShell(Leave):
    pass


MOMENTS = ("state_changed", "transition_taken", "event_applied")
# For each monitor: callbacks, and where names of functions are looked up.
registered = {}
globals_of = {}
debug_functions = {}


class Transition:
    """A transition of a property, as callbacks get it."""

    def __init__(self, found):
        self.__dict__.update(found)

    def __repr__(self):
        return "<transition %s -> %s on %s>" % (self.source, self.target, self.event)


def _env(s):
    """The values of the property's names, and those of others, which the slice
    keeps in one dict."""
    env, others = _ask("env", slice=s or {})
    return {k: _value(v) for k, v in env.items()}, _value(others) or {}


def _set_others(s, others):
    # Always another dict: the slice may still need the one that it has.
    _ask("set_env", slice=s or {}, name=None, cell=_cell(others) if others else None)


def _value(cell):
    if isinstance(cell, dict) and "$handle" in cell:
        return _borrow(cell["$handle"])
    return cell


def _flag(b):
    return b.strip().lower() not in ("false", "0", "no", "off", "") if isinstance(b, str) else bool(b)


def _function(f):
    if callable(f):
        return f
    found = globals_of.get(_owner(), functions).get(f, functions.get(f))
    if not callable(found):
        raise ValueError("no function named %r" % (f,))
    return found


class MonitorInterface:
    """The monitor whose code runs."""

    def get_states(self):
        return set(_ask("states"))

    def get_current_states(self):
        return set(_ask("current_states"))

    def set_current_state(self, state, s=None):
        _ask("set_state", slice=s or {}, state=str(state))

    set_current_states = set_current_state

    def get_env(self, s=None):
        env, others = _env(s)
        return {**env, **others}

    get_env_dict = get_env

    def get_env_keys(self, s=None, as_iterator=True):
        keys = list(self.get_env(s))
        return iter(keys) if as_iterator else keys

    def get_env_value(self, s, key):
        return self.get_env(s)[key]

    def set_env_value(self, s, key, value):
        if _ask("has_env", slice=s or {}, name=str(key)):
            _ask("set_env", slice=s or {}, name=str(key), cell=_cell(value))
        else:
            _set_others(s, {**_env(s)[1], str(key): value})

    def set_env_dict(self, s, new_env):
        new_env = dict(new_env)
        env, others = _env(s)
        for key in env.keys() - new_env.keys():
            _ask("set_env", slice=s or {}, name=str(key), cell=None)
        if others:
            _set_others(s, None)
        for key, value in new_env.items():
            self.set_env_value(s, key, value)

    def get_slices(self):
        return _ask("slices")

    def get_slice_bindings(self):
        bindings = {}
        for s in _ask("slices"):
            for name, value in s.items():
                values = bindings.setdefault(name, [])
                if value not in values:
                    values.append(value)
        return bindings

    def print_monitor_state(self):
        for line in _ask("describe"):
            print("".join(p if isinstance(p, str) else to_json(_value(p)) for p in line))

    def register_event(self, event_type, callback):
        if event_type not in MOMENTS:
            raise ValueError("no event %r: one of %s" % (event_type, ", ".join(MOMENTS)))
        registered.setdefault(_owner(), []).append((event_type, _function(callback)))
        _ask("callbacks", any=True)

    def unregister_event(self, event_type, callback):
        mine = registered.get(_owner(), [])
        entry = (event_type, _function(callback))
        if entry not in mine:
            raise ValueError("this callback is not registered for %r" % (event_type,))
        mine.remove(entry)
        _ask("callbacks", any=bool(mine))

    def set_globals(self, g):
        globals_of[_owner()] = g

    def set_quiet(self, b=True):
        _ask("quiet", on=_flag(b))

    def step_by_step(self, b=True):
        _ask("step_by_step", on=_flag(b))

    def set_transition_debug_function(self, fun_name=None):
        if fun_name is None:
            debug_functions.pop(_owner(), None)
        else:
            debug_functions[_owner()] = _function(fun_name)
        _ask("all_events", on=fun_name is not None)

    def stop_execution(self):
        _ask("stop", monitor=True)
        raise StopExecution()

    def debugger_shell(self):
        _ask("stop", monitor=False)
        raise DebuggerShell()


functions["monitor"] = MonitorInterface()

# Of the appendix of the paper: not for the prompt.
NOT_FOR_PROMPT = (
    "get_env_dict set_globals get_env_keys stop_execution set_current_states debugger_shell set_env_dict"
).split()


def call_method(name, text):
    if name in NOT_FOR_PROMPT:
        raise gdb.error("%s is not accessible from verde exec" % name)
    method = None if name.startswith("_") else getattr(MonitorInterface, name, None)
    if method is None:
        raise gdb.error("a monitor has no method %s" % name)
    try:
        args = [ast.literal_eval(text)] if text.strip().startswith("{") else None
    except (SyntaxError, ValueError):
        args = None
    if args is None:
        args = [_literal(word) for word in _words(text)]
    value = method(functions["monitor"], *args)
    if value is None:
        return ""
    if isinstance(value, (set, frozenset)):
        return "{%s}" % ", ".join(sorted(map(repr, value)))
    return repr(value)


def _words(text):
    """White space separates arguments, except inside brackets and strings."""
    words, word, depth, quote = [], "", 0, ""
    for c in text:
        if quote:
            quote = "" if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        if c.isspace() and depth <= 0 and not quote:
            words, word = (words + [word] if word else words), ""
        else:
            word += c
    return words + [word] if word else words


def _literal(word):
    try:
        return ast.literal_eval(word)
    except (SyntaxError, ValueError):
        return word


# The name of the one that raised last.
failed_callback = ""


def fire(owner, moment, text):
    global failed_callback
    args, failed_callback = json.loads(text), ""
    if moment == "debug":
        wanted = [debug_functions[owner]] if owner in debug_functions else []
    else:
        wanted = [callback for kind, callback in registered.get(owner, []) if kind == moment]
    if moment == "transition_taken":
        args[0] = Transition(args[0])
    elif moment == "state_changed":
        args[0] = set(args[0])
    for callback in wanted:
        try:
            callback(*args)
        except Leave:
            pass
        except BaseException:
            failed_callback = str(getattr(callback, "__name__", type(callback).__name__))
            raise


def forget(owner):
    for table in (registered, globals_of, debug_functions):
        table.pop(owner, None)


# ---- actions of scenarios ----


def checkpoint():
    """Saves the program and its monitors; the checkpoint's number."""
    return _ask("checkpoint")


def restore_checkpoint(c):
    _ask("restore_checkpoint", number=int(c))


def set_watchpoint(expression, mode="w"):
    return _ask("set_watchpoint", expression=str(expression), mode=str(mode))


def unset_watchpoint(which):
    _ask("unset_point", which=str(which), watch=True)


def set_breakpoint(location):
    return _ask("set_breakpoint", location=str(location))


def unset_breakpoint(which):
    _ask("unset_point", which=str(which), watch=False)


def stop():
    _ask("stop", monitor=False)


def set_state(state, s=None, of=None):
    _ask("set_state", slice=s or {}, state=str(state), property=of)


def bindings():
    """By name what the slice binds that the scenario reacts to."""
    return _ask("bindings")


for _each in (
    checkpoint,
    restore_checkpoint,
    set_watchpoint,
    unset_watchpoint,
    set_breakpoint,
    unset_breakpoint,
    stop,
    set_state,
    bindings,
):
    functions[_each.__name__] = _each
    ACTIONS.append(_each)
