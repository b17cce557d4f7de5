"""What mutants are made of: the simulator, or a strategy on it, with one call exchanged for a wrong one.

A mutant is a function with the arguments of the call it stands for, behind the simulator and a place to keep
things in. It knows the clause that it breaks and the kit's test that has to see it.
"""

from collections.abc import Callable
from contextvars import copy_context
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, final

import numpy as np

import simstrategy as ss
from simstrategy.device import Backend
from simstrategy.device.wrapper import Wrapper
from simstrategy_conformance.index import Entry, failure_of
from simstrategy_conformance.subject import Subject

__all__ = ["Altered", "Mutant", "Registry", "altered_strategy", "failure_apart", "loose", "mutates", "subject_with"]

HERE = Path(__file__).parent
CALLS = (
    "all_reduce", "reduce", "broadcast", "all_gather", "exchange", "put", "get", "cell", "spec", "on",
    "synchronize", "close", "prepare", "source",
)  # fmt: skip


class Mutant(NamedTuple):
    """clause: what it breaks. test: the one of the kit that has to see it. call: what it stands for."""

    name: str
    clause: str
    test: str
    call: str
    wrong: Callable[..., Any]

    def subject(self, profile: Any, seed: int = 0) -> Subject:
        """Returns the mutant as the subject of an examination."""
        if self.call.startswith("strategy."):
            return Subject(self.name, open_backend=opened, strategy=altered_strategy(self), profile=profile, seed=seed)
        return Subject(self.name, open_backend=self.open, profile=profile, seed=seed)

    def open(self, *, replicas: Any = None) -> Backend:
        if self.call == "open":
            return self.wrong(opened, {}, replicas)
        if self.call.startswith("xp."):
            return with_function(opened(replicas=replicas), self.call[3:], self.wrong)
        if not self.call:
            return self.wrong(opened(replicas=replicas))
        return Altered(opened(replicas=replicas), {self.call: self.wrong})


def opened(*, replicas: Any = None) -> Backend:
    return ss.backend("sim", replicas=replicas)


@final
class Altered(Wrapper):
    """A backend with some calls and attributes exchanged."""

    __slots__ = ("_changes", "state")

    def __init__(self, inner: Backend, changes: dict[str, Callable[..., Any]], **attributes: Any) -> None:
        Wrapper.__init__(self, inner)
        self._changes = changes
        self.state: dict[str, Any] = {}
        if "spec" in changes:
            self.forms = None  # the simulator's would not show what the changed one shows
        for name, value in attributes.items():
            setattr(self, name, value)


def _call(name: str) -> Callable[..., Any]:
    def call(self: Altered, *arguments: Any, **options: Any) -> Any:
        wrong = self._changes.get(name)
        if wrong is None:
            return getattr(self._inner, name)(*arguments, **options)
        return wrong(self._inner, self.state, *arguments, **options)

    return call


for _name in CALLS:
    setattr(Altered, _name, _call(_name))


def with_function(inner: Backend, name: str, wrong: Callable[..., Any]) -> Backend:
    """Returns a backend with one array function exchanged."""
    functions = {one: getattr(inner.xp, one) for one in ss.device.NAMES}
    state: dict[str, Any] = {}

    def function(*arguments: Any, **options: Any) -> Any:
        return wrong(inner, state, *arguments, **options)

    return Altered(inner, {}, xp=_Functions(functions | {name: function}))


class _Functions:
    """An array namespace made of functions."""

    def __init__(self, functions: dict[str, Any]) -> None:
        vars(self).update(functions)


def altered_strategy(mutant: Mutant) -> Callable[..., Any]:
    """Returns what makes strategies with one method exchanged."""

    def make(backend: Backend, **settings: Any) -> Any:
        strategy = ss.Strategy.mirrored(Altered(backend, {"source": _source}), **settings)
        methods = {name: getattr(strategy, name) for name in dir(strategy) if not name.startswith("_")}
        state: dict[str, Any] = {}

        def method(*arguments: Any, **options: Any) -> Any:
            return mutant.wrong(strategy, state, *arguments, **options)

        return _Functions(methods | {mutant.call.removeprefix("strategy."): method})

    return make


def _source(inner: Backend, state: dict[str, Any], frame: FrameType) -> tuple[str, int]:
    """Returns where a mutant was called, since what calls strategies here is no program's line."""
    while Path(frame.f_code.co_filename).parent == HERE and frame.f_back is not None:
        frame = frame.f_back
    return inner.source(frame)


def loose(array: Any) -> Any:
    """Returns a copy of a simulated array that can be written to."""
    return np.array(array, subok=False).view(type(array))


class Registry:
    """Collects mutants: `mutates(clause, test, call)` is a decorator of the function that does it wrong."""

    def __init__(self) -> None:
        self.mutants: list[Mutant] = []

    def __call__(self, clause: str, test: str, call: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def keep(wrong: Callable[..., Any]) -> Callable[..., Any]:
            assert wrong.__doc__, f"{wrong.__name__} has to say whose mistake it is"
            assert all(one.name != wrong.__name__ for one in self.mutants), f"two mutants are called {wrong.__name__}"
            self.mutants.append(Mutant(wrong.__name__, clause, test, call, wrong))
            return wrong

        return keep


mutates = Registry()


def failure_apart(entry: Entry, subject: Subject) -> BaseException | None:
    """Runs a test of the kit in a context of its own: a mutant may well leave a placement behind."""
    return copy_context().run(failure_of, entry, subject)


def subject_with(name: str, open_backend: Callable[..., Backend], profile: Any) -> Subject:
    """Returns a subject of a backend that is made here."""
    return Subject(name, open_backend=open_backend, profile=profile)
