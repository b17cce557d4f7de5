"""Whether a thread has a way to an object, and so may release who waits for it.

It runs none of the program's code. What it cannot know counts as a way: no error is raised on a guess.
"""

import gc
import signal
import threading
import weakref
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import PurePath
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any, Final

from greenlet import greenlet

__all__ = ["is_reachable", "signal_handlers"]

_NOTHING: Final = object()
_REFERENCES_MAX: Final = 1_000_000
_SKIPPED: Final = (ModuleType, type, CodeType, str, bytes, int, float)
_PACKAGES: Final = "site-packages"
_STANDARD_LIBRARY: Final = str(PurePath(threading.__file__).parent)


def is_reachable(thing: object, roots: Iterable[object]) -> bool:
    """Returns whether one of these objects has a way to the thing; True where it is not known.

    roots: of a thread its newest frame; any object of the program.
    """
    seen: set[int] = set()
    left = list(roots)
    while left:
        value = left.pop()
        if value is thing:
            return True
        if isinstance(value, _SKIPPED) or _is_ours(type(value).__module__) or _number(value) in seen:
            continue
        seen.add(_number(value))
        if len(seen) > _REFERENCES_MAX:
            return True
        if _number(type(value)) not in seen:
            seen.add(_number(type(value)))
            left.extend([one for kind in type(value).__mro__ for one in list(vars(kind).values())])
        left.extend(_next_of(value))
    return False


def signal_handlers() -> list[object]:
    """Returns the program's functions that a signal calls in the main thread, whatever it waits for."""
    found = [signal.getsignal(one) for one in signal.valid_signals()]
    return [one for one in found if callable(one) and one is not signal.default_int_handler and not _ends_loop(one)]


def _ends_loop(handler: object) -> bool:
    """Returns whether a handler is the one by which `asyncio.run` turns Ctrl-C into the end of its loop."""
    method = handler.func if isinstance(handler, partial) else None
    return isinstance(method, MethodType) and method.__func__.__module__ == "asyncio.runners"


def _is_ours(module: object) -> bool:
    """Returns whether a type or frame is of this package, which refers to all runs, and releases nothing of theirs."""
    return isinstance(module, str) and module.startswith("simstrategy.")


def _number(value: object) -> int:
    return id(value)


def _next_of(value: object) -> Iterator[object]:
    if isinstance(value, FrameType):
        yield from _values_of(value)
        return
    if isinstance(value, greenlet):
        yield from _values_of(value.gr_frame)
    if isinstance(value, weakref.ReferenceType):
        yield weakref.ReferenceType.__call__(value)
    if isinstance(value, FunctionType):
        installed = _PACKAGES in value.__code__.co_filename  # they lead through all of a large library
        if not installed and not _is_ours(value.__module__):
            yield from _named(value.__code__, value.__globals__)
    for one in gc.get_referents(value):
        # The globals of a function are those of a module, of which `_named` takes what is named.
        if not (isinstance(one, dict) and "__builtins__" in one):
            yield one


def _values_of(frame: FrameType | None) -> Iterator[object]:
    """Returns what a thread's frames name: their local variables and those globals that their code mentions."""
    while frame is not None:
        if not _is_ours(frame.f_globals.get("__name__")):
            yield from list(frame.f_locals.values())
            yield from _named(frame.f_code, frame.f_globals)
        frame = frame.f_back


def _named(code: CodeType, names: dict[str, Any]) -> Iterator[object]:
    """Returns the globals that a function mentions, and of modules among them the attributes that it mentions.

    Not of Python's own files, which list all threads there are.
    """
    file = code.co_filename
    if file.startswith(_STANDARD_LIBRARY) and _PACKAGES not in file:
        return
    mentioned = [names.get(name, _NOTHING) for name in code.co_names]
    for value in mentioned:
        if isinstance(value, ModuleType):
            yield from [vars(value)[name] for name in code.co_names if name in vars(value)]
        elif value is not _NOTHING:
            yield value
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _named(constant, names)
