"""Sizes of files and functions, sources of chance in the core, sleep in tests."""

import ast
from collections.abc import Iterator

from ci.tidy.violation import Violation, is_test

FILE_LINES_MAX = 320
FUNCTION_LINES_MAX = 50
CORE = "simstrategy/"

# A control channel waits for other processes with time limits: no choice of a program depends on it.
PEERS_THAT_WAIT = tuple(
    f"simstrategy/peers/{name}.py" for name in ("channel", "connecting", "handshake", "hello", "listener", "rendezvous")
)
# What carries the tasks, and what looks at them: no result depends on it.
RUN = "simstrategy/run/"
RUN_WITH_THREADS = tuple(
    f"{RUN}{name}.py"
    for name in (
        "blocked",
        "collector",
        "deadlocks",
        "ending",
        "forced",
        "frames",
        "greenlets",
        "handoff",
        "inline",
        "left",
        "looks",
        "lost",
        "one_thread",
        "own_thread",
        "reaching",
        "starting",
        "threads",
        "used_time",
        "waiting",
        "watch",
    )
)
PEERS_WITH_SOCKETS = (*PEERS_THAT_WAIT, "simstrategy/peers/addresses.py", "simstrategy/peers/connection.py")
# Sources of chance, and the files in which a decision record allows each.
BANNED_MODULES = {
    "random": (),
    "secrets": (),
    "time": (
        *(f"simstrategy/launch/{name}.py" for name in ("keeper", "launcher", "together")),
        *(f"{RUN}{name}.py" for name in ("left", "looks", "lost", "one_thread")),
        *PEERS_THAT_WAIT,
    ),
    "uuid": (),
    "datetime": (),
    "threading": (*RUN_WITH_THREADS, "simstrategy/launch/reporting.py"),
    "greenlet": tuple(f"{RUN}{name}.py" for name in ("blocked", "greenlets", "inline", "own_thread", "reaching")),
    "socket": (
        "simstrategy/launch/channel.py",
        "simstrategy/launch/forkserver.py",
        "simstrategy/launch/ports.py",
        *PEERS_WITH_SOCKETS,
    ),
    "subprocess": ("simstrategy/launch/server.py",),
    "tempfile": (
        "simstrategy/launch/forkserver.py",
        "simstrategy/launch/reporting.py",
        "simstrategy/estimator/estimating.py",
        "simstrategy/check/scripts/folders.py",
        "simstrategy/check/scripts/own_folders.py",
    ),
}
BANNED_CALLS = {"hash": (), "input": (), "breakpoint": (), "eval": (), "exec": ()}
BANNED_NAMES = {"id": ("simstrategy/device/strict.py", f"{RUN}reaching.py")}
BANNED_ATTRIBUTES = {
    "environ": (
        "simstrategy/check/processes.py",
        "simstrategy/check/worker.py",
        "simstrategy/launch/reporting.py",
        "simstrategy/launch/server.py",
        "simstrategy/launch/worker.py",
    ),
    "getenv": (),
}


def check_python(file: str, text: str) -> Iterator[Violation]:
    """Checks one Python file; `file` is relative to the repository."""
    lines = text.splitlines()
    if len(lines) > FILE_LINES_MAX and not is_test(file):
        yield Violation(file, 1, f"{len(lines)} lines; {FILE_LINES_MAX} at most: one idea per file")
    tree = ast.parse(text)
    if lines and ast.get_docstring(tree) is None and not file.endswith("conftest.py"):
        yield Violation(file, 1, "no docstring: what the file is, and what it refuses to be")
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            size = (node.end_lineno or node.lineno) - node.lineno + 1
            if size > FUNCTION_LINES_MAX and not is_test(file):
                yield Violation(file, node.lineno, f"{node.name} has {size} lines; {FUNCTION_LINES_MAX} at most")
        if file.startswith(CORE):
            yield from _check_chance(file, node)
        elif is_test(file) and isinstance(node, ast.Call) and _called(node) == "sleep":
            yield Violation(file, node.lineno, "sleep in a test: wait for the event itself")


def _check_chance(file: str, node: ast.AST) -> Iterator[Violation]:
    for module in _imported(node):
        if file not in BANNED_MODULES.get(module, (file,)):
            yield Violation(file, node.lineno, f"import of {module}: every choice is schedule.choose(label, n)")
    if isinstance(node, ast.Call) and file not in BANNED_CALLS.get(_called(node), (file,)):
        yield Violation(file, node.lineno, f"call of {_called(node)}()")
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and file not in BANNED_NAMES.get(node.id, (file,)):
        yield Violation(file, node.lineno, f"use of {node.id}: addresses differ from run to run")
    if isinstance(node, ast.Attribute) and file not in BANNED_ATTRIBUTES.get(node.attr, (file,)):
        yield Violation(file, node.lineno, f"use of os.{node.attr}: settings are arguments")
    for iterable in _iterated(node):
        if isinstance(iterable, (ast.Set, ast.SetComp)) or (
            isinstance(iterable, ast.Call) and _called(iterable) in {"set", "frozenset"}
        ):
            yield Violation(file, iterable.lineno, "iteration over a set: its order is chance; sort it")


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name.partition(".")[0] for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [node.module.partition(".")[0]]
    return []


def _called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def _iterated(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, (ast.For, ast.AsyncFor)):
        return [node.iter]
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return [generator.iter for generator in node.generators]
    if isinstance(node, ast.Call) and _called(node) in {"list", "tuple", "enumerate", "zip", "map", "iter"}:
        return list(node.args)
    return [node.value] if isinstance(node, ast.Starred) else []
