"""What the plugin needs of Python, written in Python: compiling blocks, deep
copies, JSON, tracebacks, the interruption of endless blocks."""

import ast
import builtins
import copy
import copyreg
import inspect
import json
import linecache
import os
import signal
import sys
import traceback
import types


class BlockTimeout(BaseException):
    """A block ran longer than allowed. Not an Exception, so that `except
    Exception` in the block does not swallow it."""


# In a traceback it is what the reader calls it, not a name of this file.
BlockTimeout.__module__ = "builtins"


# Functions files run in this namespace, and it is the builtins of every block:
# what a function does to its globals the blocks see at once.
functions = dict(vars(builtins))
functions["__builtins__"] = builtins
functions["__name__"] = "functions"


class _NoProgram:
    def __getattr__(self, name):
        raise gdb.error("monitor.%s needs a running program; a trace has none" % name)


gdb = types.ModuleType("gdb", "The debugger, as far as blocks can ask it.")


class _Error(RuntimeError):
    pass


_Error.__name__ = _Error.__qualname__ = "error"
_Error.__module__ = "gdb"
gdb.error = _Error


def _execute(command, from_tty=False, to_string=False):
    print("(no program: %s)" % command)
    return "" if to_string else None


def _no_program(*args, **kwargs):
    raise gdb.error("there is no program: this is a trace")


gdb.execute = _execute
gdb.parse_and_eval = _no_program
gdb.selected_frame = _no_program
gdb.selected_thread = _no_program
sys.modules["gdb"] = gdb
functions["gdb"] = gdb
functions["monitor"] = _NoProgram()

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
            raise BlockTimeout("the block did not end within %g s" % (limit / 1000))

    signal.signal(number, handler)


def run_functions(file, text):
    functions["__file__"] = file
    folder = os.path.dirname(os.path.abspath(file))
    if folder not in sys.path:
        sys.path.insert(0, folder)
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), functions)


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


def has_action(name):
    function = functions.get(name)
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
