"""What a thread waits for, read from its frames: a lock, a queue, an event, and whether another thread can reach it.

It runs none of the program's code: frames, attributes and references are read as they are stored.
"""

import concurrent.futures
import dis
import gc
import queue
import threading
from collections.abc import Iterable, Iterator, Mapping
from types import BuiltinMethodType, CodeType, FrameType, ModuleType
from typing import Any, Final, NamedTuple

__all__ = ["Awaited", "awaited_by", "is_reachable"]

_WAITING_FILES: Final = frozenset(
    function.__code__.co_filename
    for function in (threading.Condition.wait, queue.Queue.get, concurrent.futures.Future.result)
)
"""Files of the standard library in which a thread waits for another one of its process."""
_METHODS: Final = frozenset({"acquire", "get", "__enter__"})
_TYPES: Final = (type(threading.Lock()), type(threading.RLock()), queue.SimpleQueue)
_NOTHING: Final = object()

_REFERENCES_MAX: Final = 100_000
_SKIPPED: Final = (ModuleType, type, CodeType, str, bytes, int, float)


class Awaited(NamedTuple):
    """What a thread waits for."""

    thing: object
    ends: bool
    """Whether the wait has a time-out, and so ends without another thread."""


def awaited_by(frame: FrameType) -> Awaited | None:
    """Returns what a thread whose newest frame this is waits for, or None where that cannot be read."""
    found: Awaited | None = None
    ends = False
    above: FrameType | None = frame
    while above is not None and above.f_code.co_filename in _WAITING_FILES:
        ends = ends or above.f_locals.get("timeout") is not None
        found = Awaited(above.f_locals.get("self"), ends)
        above = above.f_back
    if found is not None:
        return found
    thing = _called_object(frame)
    return Awaited(thing, False) if isinstance(thing, _TYPES) else None


def _called_object(frame: FrameType) -> object:
    """Returns the object in `with object:`, or in `object.acquire()`, where the frame is at such a call."""
    steps = [one for one in dis.get_instructions(frame.f_code) if one.offset <= frame.f_lasti]
    at = steps.pop().opname if steps else ""
    if at == "BEFORE_WITH":
        return _loaded(steps, frame)
    if at != "CALL":
        return None
    while steps and steps[-1].opname in ("PRECALL", "LOAD_CONST"):
        steps.pop()
    if steps and steps[-1].opname in ("LOAD_METHOD", "LOAD_ATTR") and steps[-1].argval in _METHODS:
        return _loaded(steps[:-1], frame)
    method = _loaded(steps, frame)
    if not isinstance(method, BuiltinMethodType) or method.__name__ not in _METHODS:
        return None
    owner: object = method.__self__
    return owner


def _loaded(steps: list[dis.Instruction], frame: FrameType) -> object:
    """Returns the value of a name, or of attributes of one, that the last of these steps load; else None."""
    left, names = list(steps), []
    while left and left[-1].opname in ("LOAD_ATTR", "PUSH_NULL"):
        step = left.pop()
        names += [step.argval] if step.opname == "LOAD_ATTR" else []
    if not left or left[-1].opname not in ("LOAD_FAST", "LOAD_DEREF", "LOAD_GLOBAL", "LOAD_NAME"):
        return None
    name = left[-1].argval
    value: object = frame.f_locals.get(name, frame.f_globals.get(name))
    for name in reversed(names):
        value = _stored(value).get(name)
    return value


def _stored(value: object) -> Mapping[str, Any]:
    try:
        return vars(value)
    except TypeError:
        return {}


def is_reachable(thing: object, frames: Iterable[FrameType]) -> bool:
    """Returns whether one of these threads, by its newest frame, has a way to the thing; True where it is not known."""
    seen: set[int] = set()
    left = [value for frame in frames for value in _values_of(frame)]
    while left:
        value = left.pop()
        if value is thing:
            return True
        if isinstance(value, _SKIPPED) or _is_ours(type(value).__module__) or _number(value) in seen:
            continue
        seen.add(_number(value))
        if len(seen) > _REFERENCES_MAX:
            return True
        left.extend(_values_of(value) if isinstance(value, FrameType) else _referents(value))
    return False


def _is_ours(module: object) -> bool:
    """Returns whether a type or frame is of this package, which refers to all runs, and releases nothing of theirs."""
    return isinstance(module, str) and module.startswith("simstrategy.")


def _number(value: object) -> int:
    return id(value)


def _referents(value: object) -> Iterator[object]:
    for one in gc.get_referents(value):
        # The globals of a function are those of a module, of which `_values_of` takes what is named.
        if not (isinstance(one, dict) and "__builtins__" in one):
            yield one


def _values_of(frame: FrameType | None) -> Iterator[object]:
    """Returns what a thread's frames name: their local variables and those globals that their code mentions."""
    while frame is not None:
        if _is_ours(frame.f_globals.get("__name__")):
            frame = frame.f_back
            continue
        yield from frame.f_locals.values()
        # The globals of these files list all threads there are.
        for name in frame.f_code.co_names if frame.f_code.co_filename not in _WAITING_FILES else ():
            value = frame.f_globals.get(name, _NOTHING)
            if value is not _NOTHING:
                yield value
        frame = frame.f_back
