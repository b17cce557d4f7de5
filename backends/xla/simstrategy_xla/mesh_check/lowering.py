"""Puts functions around JAX's lowering rules, and reads places of a program from tracebacks.

JAX turns every operation into code by a rule, also the ones that differentiation, `scan` and `pmap` make of it. A rule
of ours calls the former one and adds to what it gives. So no operation of a program is missed, and no name is replaced.
Nothing here records or changes values.
"""

import functools
import os
import site
import sys
import sysconfig
import threading
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, NamedTuple, final

import jax
from jax.interpreters import mlir

import simstrategy
from simstrategy.trace import describe_site

__all__ = ["Place", "Rules", "is_of_program", "not_shared", "place_of", "running_line"]

Rule = Callable[..., Sequence[Any]]
Around = Callable[[str, Rule], Rule]
"""Makes a rule of the name of an operation and its former rule."""

_JAX: Final = os.path.dirname(jax.__file__) + os.sep
_OURS: Final = tuple({os.path.dirname(one) + os.sep for one in (simstrategy.__file__, os.path.dirname(__file__))})
_NO_LIBRARY: Final = (*_OURS, "<frozen")
_PACKAGES: Final = tuple({*site.getsitepackages(), sysconfig.get_path("purelib"), sysconfig.get_path("stdlib")})
_INSTALLED: Final = f"{os.sep}site-packages{os.sep}"
_CALLS: Final = frozenset({"cache_miss", "jit_lower"})
"""The functions of JAX that lower a compiled function, for a call or for `lower`: lines that they call are in it."""
_PMAP: Final = "pmap.py"
_OF_PAIRS: Final = frozenset(
    {
        *("reduce", "reduce_window", "argmax", "argmin", "sort", "select_and_scatter", "select_and_scatter_add"),
        *("scatter", "scatter-add", "scatter-sub", "scatter-mul", "scatter-min", "scatter-max", "approx_top_k"),
    }
)
"""Operations with code for a pair of elements. XLA ends the process where such code has a callback."""


class Place(NamedTuple):
    """file, line: of the program. through: names of JAX's functions between the operation and this line.

    inside: whether the operation is in a function that is compiled. Else the line calls one of JAX's, as `jnp.mean`.
    called: the operation's line in a function of a library that is compiled, and which any line may call; "" otherwise.
    """

    file: str
    line: int
    through: frozenset[str]
    inside: bool
    called: str


@final
class Rules:
    """The rules of one process that were put around JAX's."""

    def __init__(self) -> None:
        self._before: list[tuple[Any, str | None, Any]] = []
        self._adding = False
        self._apart = 0
        """In how many operations of `_OF_PAIRS` the code is that is being made."""

    def put_around(self, names: Collection[str], around: Around, *, cached: bool = False) -> None:
        """Puts a rule around that of each operation of these names.

        cached: whether operations that are alike share their code, and so one call of the rule.
        """
        tables: list[tuple[str | None, Any]] = [
            (None, mlir._lowerings),  # noqa: SLF001 - JAX has no public way to read a rule
            ("cpu", mlir._platform_specific_lowerings["cpu"]),  # noqa: SLF001 - as above
        ]
        for platform, table in tables:
            for primitive, entry in [*table.items()]:
                if primitive.name in names:
                    self._before.append((primitive, platform, entry))
                    rule = self._guarded(around(primitive.name, entry.rule), entry.rule)
                    mlir.register_lowering(primitive, rule, platform, entry.inline, cached)

    def keep_apart(self) -> None:
        """Has `is_apart` known of operations with code for a pair of elements."""
        self.put_around(_OF_PAIRS, self._of_pairs)

    @property
    def is_apart(self) -> bool:
        """Whether the code that is being made is for a pair of elements."""
        return self._apart > 0

    def _of_pairs(self, name: str, rule: Rule) -> Rule:
        def apart(ctx: Any, *values: Any, **params: Any) -> Sequence[Any]:
            # A function that stands outside of such code too is made there with callbacks, and here without.
            self._apart += 1
            try:
                return rule(not_shared(ctx), *values, **params)
            finally:
                self._apart -= 1

        return apart

    @property
    def mark(self) -> int:
        """How many rules were put, for `restore`."""
        return len(self._before)

    def restore(self, mark: int) -> None:
        """Registers the rules again that there were at a mark.  What is compiled already stays as it is."""
        while len(self._before) > mark:
            primitive, platform, entry = self._before.pop()
            mlir.register_lowering(primitive, entry.rule, platform, entry.inline)

    def add(self, function: Callable[..., Any], ctx: Any, values: Sequence[Any], avals: Sequence[Any]) -> Sequence[Any]:
        """Adds the code of a function of JAX values to a program, and returns its results.

        What the function itself calls has the former rules.
        """
        lowered = mlir.lower_fun(function, multiple_results=True)
        own = ctx.replace(primitive=None, avals_in=list(avals), avals_out=None, tokens_out=None)
        adding, self._adding = self._adding, True
        try:
            found: Sequence[Any] = lowered(own, *values)
        finally:
            self._adding = adding
        return found

    def _guarded(self, rule: Rule, former: Rule) -> Rule:
        @functools.wraps(former)
        def guarded(*args: Any, **params: Any) -> Sequence[Any]:
            return (former if self._adding else rule)(*args, **params)

        return guarded


def not_shared(ctx: Any) -> Any:
    """Returns a context in which no code of functions is known that was made before."""
    return ctx.replace(module_context=ctx.module_context.replace(lowering_cache={}, cached_primitive_lowerings={}))


def place_of(traceback: Any, *, inner: bool = False) -> Place | None:
    """Returns the innermost line of a traceback of JAX that is the program's; None without one.

    A line of an installed library stands for the program's where no other is there. inner: whether the operation is in
    a function that JAX makes of a loop's body, of a nested `jit`, or of the like: its traceback ends there.
    """
    through: set[str] = set()
    found: tuple[str, int, frozenset[str]] | None = None
    inside, called = False, ""
    codes, lasts = traceback.raw_frames()
    for code, last in zip(codes, lasts, strict=True):
        file = code.co_filename
        if file.startswith(_JAX):
            inside = inside or (found is not None and code.co_name in _CALLS)
            through |= {code.co_name, _PMAP} if file.endswith(_PMAP) else {code.co_name}
        elif not file.startswith(_NO_LIBRARY) and (found is None or (_folder_of(found[0]) and is_of_program(file))):
            called = _short(found) if found is not None and inside else ""
            found = file, traceback.code_addr2line(code, last), frozenset(through)
            inside = False
    if found is None:
        return None
    if inner and not called and not is_of_program(found[0]):
        called = _short(found)
    return Place(*found, inside or inner or bool(called), "" if inside else called)


def running_line() -> str | None:
    """Returns the innermost line of the program that the main thread is at, where it waits for a compiled function."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)  # noqa: SLF001 - documented, under this name
    while frame is not None and not is_of_program(frame.f_code.co_filename):
        frame = frame.f_back
    return None if frame is None else describe_site((frame.f_code.co_filename, frame.f_lineno))


def is_of_program(file: str) -> bool:
    """Returns whether a file of code is neither of JAX, nor of this library, nor of an installed one."""
    return not file.startswith((_JAX, *_NO_LIBRARY)) and not _folder_of(file)


def _short(line: tuple[str, int, frozenset[str]]) -> str:
    """Returns a line of a library, by its file below the folder of libraries."""
    file, number, _ = line
    return f"{file.removeprefix(_folder_of(file)).lstrip(os.sep)}:{number}"


def _folder_of(file: str) -> str:
    """Returns the folder of installed libraries that a file is in; "" for none.

    A user's own, or one that PYTHONPATH names, is none of this Python's: it is known by its name.
    """
    own = next((one for one in _PACKAGES if file.startswith(one)), "")
    return own or "".join(file.rpartition(_INSTALLED)[:2])
