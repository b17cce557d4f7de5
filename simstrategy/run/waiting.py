"""What a thread waits for, read from its frames: a lock, a queue, an event, a thread, an event loop.

It runs none of the program's code: frames and attributes are read as they are stored.
"""

import dis
import queue
import re
import threading
from collections.abc import Callable, Mapping
from functools import partial
from types import BuiltinMethodType, FrameType
from typing import Any, Final, NamedTuple

__all__ = ["Awaited", "awaited_by", "kind_of_wait", "owner_of", "waker_of"]

_WAITING: Final = frozenset({"threading", "queue", "concurrent.futures._base"})
"""Modules of the standard library in which a thread waits for another one of its process. By name, as those of event
loops: a program that uses neither need not pay for their import."""
_METHODS: Final = frozenset({"acquire", "get", "__enter__"})
_LOCK: Final = type(threading.Lock())
_RLOCK: Final = type(threading.RLock())
_TYPES: Final = (_LOCK, _RLOCK, queue.SimpleQueue)
_LIVES: Final = frozenset({"run", "_bootstrap", "_bootstrap_inner"})
"""What a thread of the standard library runs all its life."""
_MAY_WAIT: Final = ("block", "blocking")
_OWNER: Final = re.compile(r"owner=(\d+)")


class Awaited(NamedTuple):
    """What a thread waits for."""

    thing: object
    ends: bool
    """Whether the wait ends without another thread of this process: it has a time-out, or it has just ended."""


def awaited_by(frame: FrameType) -> Awaited | None:
    """Returns what a thread whose newest frame this is waits for, or None where that cannot be read."""
    if _module_of(frame) == "selectors":
        return _awaited_by_loop(frame)
    found: object = None
    ends = False
    above: FrameType | None = frame
    while above is not None and _module_of(above) in _WAITING and above.f_code.co_name not in _LIVES:
        ends = ends or _is_limit(above.f_locals.get("timeout"))
        found = above.f_locals.get("self", found)
        above = above.f_back
    if found is not None:
        return Awaited(found, ends or _is_released(frame))
    thing = _called_object(frame)
    if not isinstance(thing, _TYPES):
        return None
    return Awaited(thing, _has_come(thing))


def kind_of_wait(frame: FrameType) -> str:
    """Returns what a thread waits for as words of a message: the type, and the name of a thread."""
    awaited = awaited_by(frame)
    thing = None if awaited is None else awaited.thing
    name = f" {thing.name!r}" if isinstance(thing, threading.Thread) else ""
    return "another thread" if thing is None else f"{type(thing).__name__}{name}"


def owner_of(lock: object) -> int | None:
    """Returns the thread that holds an RLock, 0 for none; None for anything else, whose holder is not recorded."""
    found = _OWNER.search(repr(lock)) if type(lock) is _RLOCK else None
    return None if found is None else int(found.group(1))


def waker_of(frame: FrameType, *, locks: bool = False) -> Callable[[], object] | None:
    """Returns what ends a wait for a condition or an item, of a thread in which an exception is to be raised at once.

    frame: the newest one of the thread. locks: whether a lock is released too, although another one holds it. The item
    and the lock are not seen: the exception comes before. None where nothing of this ends the wait.
    """
    waiter, thing = frame.f_locals.get("waiter"), _called_object(frame)
    if frame.f_code is threading.Condition.wait.__code__ and isinstance(waiter, _LOCK) and waiter.locked():
        return waiter.release
    if isinstance(thing, queue.SimpleQueue):
        return partial(thing.put, None)
    return thing.release if locks and isinstance(thing, _LOCK) and thing.locked() else None


def _is_limit(timeout: object) -> bool:
    """Returns whether a time-out is one: -1 stands for none in `join`."""
    return isinstance(timeout, (int, float)) and timeout >= 0


def _is_released(frame: FrameType) -> bool:
    """Returns whether the lock is free that a function of the standard library waits for: it goes on at once."""
    names = ("waiter", "lock") if _module_of(frame) == "threading" else ()
    locks = [frame.f_locals.get(name) for name in names]
    return any(isinstance(lock, _LOCK) and not lock.locked() for lock in locks)


def _has_come(thing: object) -> bool:
    """Returns whether a lock is free, or a queue has an item: a wait for it has just ended."""
    if isinstance(thing, queue.SimpleQueue):
        return not thing.empty()
    return owner_of(thing) == 0 if type(thing) is _RLOCK else isinstance(thing, _LOCK) and not thing.locked()


def _awaited_by_loop(frame: FrameType) -> Awaited | None:
    """Returns the event loop of asyncio that waits in this frame, where only another thread can wake it."""
    above = frame.f_back
    if above is None or _module_of(above) != "asyncio.base_events":
        return None
    loop = above.f_locals.get("self")
    stored = _stored(loop)
    watched = _stored(stored.get("_selector")).get("_fd_to_key")
    # One file is the loop's own: other threads wake it by that.
    alone = watched is not None and len(watched) == 1 and not stored.get("_signal_handlers")
    return Awaited(loop, not alone or bool(stored.get("_ready")) or above.f_locals.get("timeout") is not None)


def _module_of(frame: FrameType) -> str:
    """Returns the name of the module that a frame's function stands in."""
    return str(frame.f_globals.get("__name__"))


def _called_object(frame: FrameType) -> object:
    """Returns the object in `with object:`, or in `object.acquire()`, where the frame is at such a call."""
    if frame.f_code is threading.Thread.run.__code__:
        given = _stored(frame.f_locals.get("self"))
        waits = given.get("_args") == () and not given.get("_kwargs")
        return _owner(given.get("_target")) if waits else None
    steps = [one for one in dis.get_instructions(frame.f_code) if one.offset <= frame.f_lasti]
    at = steps.pop() if steps else None
    if at is not None and at.opname == "BEFORE_WITH":
        return _loaded(steps, frame)
    if at is None or at.opname != "CALL" or not _waits_for_ever(steps, frame.f_code.co_consts):
        return None
    if steps and steps[-1].opname in ("LOAD_METHOD", "LOAD_ATTR") and steps[-1].argval in _METHODS:
        return _loaded(steps[:-1], frame)
    return _owner(_loaded(steps, frame))


def _owner(method: object) -> object:
    """Returns the object of which this is a method that waits; None for anything else."""
    waits = isinstance(method, BuiltinMethodType) and method.__name__ in _METHODS
    return method.__self__ if waits and isinstance(method, BuiltinMethodType) else None


def _waits_for_ever(steps: list[dis.Instruction], constants: tuple[Any, ...]) -> bool:
    """Takes the arguments of a call off the steps; returns whether they are none, or `True` for one that waits."""
    names: tuple[str, ...] = ()
    given = []
    while steps and steps[-1].opname in ("PRECALL", "KW_NAMES", "LOAD_CONST"):
        step = steps.pop()
        if step.opname == "LOAD_CONST":
            given.append(step.argval)
        elif step.opname == "KW_NAMES" and step.arg is not None:
            names = constants[step.arg]
    return given in ([], [True]) and set(names) <= set(_MAY_WAIT)


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
