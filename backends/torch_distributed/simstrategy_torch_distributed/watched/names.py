"""Records what the names of a script hold, line by line, in the process of a rank.

Python's own tracing (`sys.settrace`) shows the lines of the user's files in the thread that runs the script. A line
sets the names that its bytecode stores, and changes others in place: both are noted when the line has run. A script
that holds much is traced until a limit, and its values until then are what is known.
"""

import contextlib
import dis
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any, Final, NamedTuple, final

import numpy as np

from simstrategy.run.frames import is_users
from simstrategy_torch_distributed.generators import GLOBAL
from simstrategy_torch_distributed.watched.changes import Changes
from simstrategy_torch_distributed.watched.contents import (
    Contents,
    addresses_of,
    attributes_of,
    contents_of,
    optimizers_of,
)
from simstrategy_torch_distributed.watched.entries import append

__all__ = ["Names"]

_VALUES_MAX: Final = 20_000
_LINES_MAX: Final = 200_000
_BYTES_MAX: Final = 64 << 20
_CALLERS_MAX: Final = 4
_GENERATOR: Final = "torch's random generator"
_NOT_NAMED: Final = ("<lambda>", "<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>")
_STARTING: Final = "simstrategy_torch_distributed.program"
"""The module that starts the script: what called it is not the user's."""
_WITHOUT_VALUES: Final = frozenset({"empty", "empty_like", "new_empty"})
_STORES: Final = frozenset({"STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF"})


@final
class _Seen:
    """What was last seen in one frame.  number: of the call. values: of its names, each with its digest.

    changed: addresses of tensors that a call of this line changes in place. bare: names that were made without values.
    """

    __slots__ = ("bare", "changed", "code", "line", "number", "values")

    def __init__(self, number: int, code: CodeType, line: int) -> None:
        self.number = number
        self.code = code
        self.line = line
        self.values: dict[str, tuple[object, int]] = {}
        self.changed: set[int] = set()
        self.bare: set[str] = set()


@final
class Names:
    """The names of one rank.  file: for the entries. step: returns the number of the optimizers' next step.

    made: returns how many calls of its groups the rank has made.
    """

    def __init__(self, file: str, step: Callable[[], int], made: Callable[[], int]) -> None:
        self._file = file
        self._changes = Changes(file, step)
        self._step = step
        self._made = made
        self._frames: dict[int, _Seen] = {}
        self._attributes: dict[tuple[int, str], int] = {}
        self._kept: dict[int, object] = {}
        """The objects whose attributes are known, so that no other one gets their address."""
        self._values: list[tuple[dict[str, Any], Contents]] = []
        self._lines: list[tuple[str, int, int]] = []
        self._bytes = 0
        self._calls = 0

    def begin(self) -> None:
        """Begins to trace this thread."""
        self._changes.begin()
        sys.settrace(self._enter)

    def end(self) -> None:
        """Ends to trace, and writes what was noted."""
        sys.settrace(None)
        self._changes.end()
        for facts, (leaves, _, _) in self._values:
            append(self._file, "held", facts, leaves)
        files = list(dict.fromkeys(file for file, _, _ in self._lines))
        lines = np.asarray([(files.index(file), line, step) for file, line, step in self._lines], np.int32)
        append(self._file, "lines", {"files": files}, [lines.reshape(-1, 3)])

    def written(self, frame: FrameType | None, changed: Sequence[int]) -> None:
        """Notes that a call changes the tensors of some addresses in place.  frame: the newest one."""
        while frame is not None and not _is_named(frame):
            frame = frame.f_back
        seen = None if frame is None else self._frames.get(id(frame))
        if seen is not None:
            seen.changed |= {*changed}

    def called(self, what: str, text: str, frame: FrameType | None, changed: Sequence[int] = ()) -> None:
        """Notes a call that is none of the script's functions.

        what: its name; frame: the newest one. changed: the addresses of the tensors that it changes in place.
        """
        while frame is not None and not _is_named(frame):
            frame = frame.f_back
        if frame is not None and sys.gettrace() is not None:
            self._note(frame, frame.f_lineno, what, "", Contents((), text, graded=False))
            seen = self._frames.get(id(frame))
            if seen is not None:
                seen.changed |= {*changed}

    def _enter(self, frame: FrameType, event: str, argument: object) -> Any:
        """Begins to trace a function of the user's; other functions are not traced."""
        if not _is_named(frame):
            return None
        if len(self._values) > _VALUES_MAX or len(self._lines) > _LINES_MAX or self._bytes > _BYTES_MAX:
            sys.settrace(None)
            return None
        seen = self._frames.get(id(frame))
        if seen is None or seen.code is not frame.f_code:
            self._calls += 1
            seen = self._frames[id(frame)] = _Seen(self._calls, frame.f_code, frame.f_lineno)
            for name in frame.f_code.co_varnames[: frame.f_code.co_argcount + frame.f_code.co_kwonlyargcount]:
                self._look_safely(frame, seen, name, _NO_LINE._replace(stored=frozenset([name])))
        seen.line = frame.f_lineno
        return self._line

    def _line(self, frame: FrameType, event: str, argument: object) -> Any:
        """Notes what the line before has set or changed, and what a function returns."""
        seen = self._frames.get(id(frame))
        if seen is None or event not in ("line", "return"):
            return self._line
        line = _lines_of(frame.f_code).get(seen.line, _NO_LINE)
        for name in list(frame.f_locals):
            self._look_safely(frame, seen, name, line)
        seen.changed.clear()
        self._look_at_generator(frame, seen)
        self._changes.line(frame.f_code.co_filename, seen.line)
        if event == "line":
            seen.line = frame.f_lineno
            self._lines.append((frame.f_code.co_filename, frame.f_lineno, self._step()))
            return self._line
        found = contents_of(argument)
        if found is None and frame.f_code.co_name == "__iter__" and argument is not None:
            found = Contents((), type(argument).__name__, graded=False)
        if found is not None:
            name = f"{frame.f_code.co_qualname if found.text else frame.f_code.co_name}()"
            self._note(frame, frame.f_lineno, name, "", found)
        if not frame.f_code.co_flags & inspect.CO_GENERATOR:
            self._frames.pop(id(frame), None)
        return self._line

    def _look_safely(self, frame: FrameType, seen: _Seen, name: str, line: "_Line") -> None:
        """Looks at a name; an object whose own methods fail, as one that is not made yet, is left out."""
        with contextlib.suppress(Exception):  # an error of what only looks is none of the script
            self._look(frame, seen, name, line)

    def _look(self, frame: FrameType, seen: _Seen, name: str, line: "_Line") -> None:
        """Notes the value of a name, if the line has set or changed it, and what it shows of its object.

        What a line makes without values, as torch.empty does, is noted when it has some.
        """
        value = frame.f_locals.get(name)
        if name.startswith((".", "__")) or value is None or isinstance(value, type):
            return
        found = contents_of(value)
        if found is not None:
            before, digest = seen.values.get(name, (None, found.digest))
            is_new = name in line.stored and before is not value  # the last line of a loop sets its names no more
            is_new = is_new or digest != found.digest or not seen.changed.isdisjoint(addresses_of(value))
            # What is in memory by chance may be what is written there.
            is_new = is_new or (name in seen.bare and name in line.used and line.writes)
            if is_new and line.used & _WITHOUT_VALUES:
                seen.bare.add(name)
            elif is_new:
                seen.bare.discard(name)
                self._note(frame, seen.line, name, "", found)
            seen.values[name] = (value, found.digest)
        for optimizer in optimizers_of(value):
            self._changes.look_at(optimizer, frame.f_code.co_filename, seen.line)
        for attribute, held in attributes_of(value):
            key = (id(value), attribute)
            self._kept[key[0]] = value
            last = attribute.rpartition(".")[2]
            is_set = last in line.attributes or f"set_{last}" in line.used
            if is_set or self._attributes.get(key) != held.digest:
                self._attributes[key] = held.digest
                self._note(frame, seen.line, f"{name}.{attribute}", f"{type(value).__name__}.{attribute}", held)

    def _look_at_generator(self, frame: FrameType, seen: _Seen) -> None:
        state = GLOBAL["torch"].state()
        if self._attributes.setdefault((0, _GENERATOR), state) != state:
            self._attributes[0, _GENERATOR] = state
            self._note(frame, seen.line, _GENERATOR, _GENERATOR, Contents((), f"{state:x}", graded=False))

    def _note(self, frame: FrameType, line: int, name: str, attribute: str, found: Contents) -> None:
        seen = self._frames.get(id(frame))
        self._bytes += sum(leaf.nbytes for leaf in found.leaves)
        facts = {
            "site": [frame.f_code.co_filename, line],
            "callers": list(_callers(frame.f_back)),
            "name": name,
            "attribute": attribute,
            "text": found.text,
            "step": self._step(),
            "calls": self._made(),
            "frame": 0 if seen is None else seen.number,
            "graded": found.graded,
        }
        self._values.append((facts, found))


def _is_named(frame: FrameType) -> bool:
    """Returns whether a frame is of a function or module of the user's files."""
    code = frame.f_code
    return is_users(frame) and code.co_name not in _NOT_NAMED and not code.co_filename.startswith("<")


def _callers(frame: FrameType | None) -> Iterator[tuple[str, int]]:
    """Yields the lines of the user's files that led to a frame, the nearest first."""
    number = 0
    while frame is not None and number < _CALLERS_MAX and frame.f_globals.get("__name__") != _STARTING:
        if is_users(frame) and not frame.f_code.co_filename.startswith("<"):
            number += 1
            yield frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back


class _Line(NamedTuple):
    """stored: names that a line sets.  attributes: those that it sets of objects. used: what it names besides.

    writes: whether it may change an object in place, by an index or by a call such as ``zero_()``.
    """

    stored: frozenset[str]
    attributes: frozenset[str]
    used: frozenset[str]
    writes: bool = False


_NO_LINE: Final = _Line(frozenset(), frozenset(), frozenset())


def _writes(one: dis.Instruction, code: CodeType) -> bool:
    if one.opname == "KW_NAMES":
        return "out" in code.co_consts[one.arg or 0]
    name = one.argval if isinstance(one.argval, str) else ""
    return one.opname == "STORE_SUBSCR" or (name.endswith("_") and not name.endswith("__"))


@lru_cache(maxsize=4096)
def _lines_of(code: CodeType) -> dict[int, _Line]:
    """Returns what each line of some code sets and names, by its bytecode."""
    found: dict[int, tuple[set[str], set[str], set[str]]] = {}
    writing: set[int] = set()
    for one in dis.get_instructions(code):
        line = one.positions.lineno if one.positions is not None else None
        if line is None:
            continue
        stored, attributes, used = found.setdefault(line, (set(), set(), set()))
        if _writes(one, code):
            writing.add(line)
        if one.opname in _STORES:
            stored.add(str(one.argval))
        elif one.opname == "STORE_ATTR":
            attributes.add(str(one.argval))
        elif isinstance(one.argval, CodeType):  # of a comprehension
            used |= {name for inner in _lines_of(one.argval).values() for name in inner.used}
        elif isinstance(one.argval, str):
            used.add(one.argval)
    return {
        line: _Line(frozenset(stored), frozenset(attributes), frozenset(used), line in writing)
        for line, (stored, attributes, used) in found.items()
    }
