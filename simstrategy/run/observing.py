"""Brings what happens in a strategy to its recorder: requests with values, as host copies.

A coordinator has an observer where its trace is a `Recorder`, else None, and nothing here is called.
"""

import sys
from collections.abc import Callable, Sequence
from itertools import repeat
from operator import itemgetter
from typing import Any, Final, Protocol, TypeAlias, TypeVar, final

import numpy as np

from simstrategy import trace as traces
from simstrategy import tree
from simstrategy.device import Backend, Cell
from simstrategy.errors import InvalidType, Unsupported
from simstrategy.run.frames import users_sites
from simstrategy.run.task import FINISHED
from simstrategy.run.visited import Visited
from simstrategy.short_repr import error_text
from simstrategy.trace import Request, Site, describe_request, describe_site
from simstrategy.values import DistributedValues

__all__ = ["Matcher", "Observer", "observer_of"]

R = TypeVar("R")

Leaf: TypeAlias = "np.ndarray[Any, Any] | traces.Unreadable"

_WRITES: Final = ("assign", "assign_add", "assign_sub")
_CALLS: Final = ("merge_call", "update")
_PAYLOAD: Final[Callable[[Any], Any]] = itemgetter(1)
_SIZE: Final[Callable[[Any], Any]] = itemgetter(4)
_NONE_YET: Final = Request("raised", None, None, None, None, ())


class Matcher(Protocol):
    """Matches the calls of one run: see `CollectiveMatcher`."""

    def match(self, calls: list[Any], order: list[int]) -> Sequence[Any]: ...
    def failed(self, index: int, error: BaseException, calls: list[Any], order: list[int]) -> None: ...


class _Variable(Protocol):
    """The part of a variable's state that a recording names it by."""

    @property
    def name(self) -> str: ...


@final
class Observer:
    """Records what one strategy does in this process."""

    __slots__ = ("_backend", "_drawn", "ranks", "recorder", "worker")

    def __init__(self, backend: Backend, recorder: "traces.Recorder") -> None:
        self._backend = backend
        self.recorder = recorder
        self.ranks = tuple(device.rank for device in backend.local_devices)
        self.worker = backend.local_devices[0].process
        self._drawn = Visited()
        """The values of the step that was drawn last: `StepParts` describes them."""

    # Synchronisation points.

    def matcher(self, inner: Matcher) -> Matcher:
        """Returns a matcher of a run that records each of its points."""
        return _RecordedMatcher(self, inner)

    def outside(self, inputs: Sequence[Any], call: Callable[[], R], outputs: Callable[[R], Sequence[Any]]) -> R:
        """Returns what a call outside replica functions returns, and records its values with its first request.

        inputs: a nest for each local replica. outputs: takes the result apart likewise.
        """
        recorder, worker = self.recorder, self.worker
        depth = recorder.expect(worker, self.rows(inputs))
        try:
            result = call()
        except BaseException as error:
            recorder.leave(worker, depth, error=described(error))
            raise
        recorder.leave(worker, depth, self.rows(outputs(result)) if recorder.depth(worker) > depth else ())
        return result

    # Other events.

    def wrote(
        self,
        variable: _Variable,
        operation: str,
        before: Sequence[Leaf],
        cells: Sequence[Cell],
        *,
        replica: int | None = None,
        site: Site | None = None,
    ) -> None:
        """Records a write: these cells have the components that were written.  site: None for the open point's."""
        after = self.components(cells)
        self.recorder.wrote(self.worker, replica, variable.name, operation, before, after, site)

    def watch_steps(self) -> Callable[[int, Sequence[list[Any]] | None], None]:
        """Returns what records the steps of one distributed dataset; see `data.iterators.WatchSteps`."""
        rows: dict[int, int] = {}
        sites = users_sites(sys._getframe(1))

        def watch(epoch: int, parts: Sequence[list[Any]] | None) -> None:
            if parts is not None:
                rows[epoch] = self.recorder.drew(
                    self.worker, epoch, rows.get(epoch, 0), parts, sites[0] if sites else None
                )

        return watch

    def handed(self, values: Sequence[Any]) -> None:
        """Notes the values that the program receives of a step that was drawn."""
        self._drawn = Visited()
        for value in values:
            self._drawn.enter(value)

    def components(self, cells: Sequence[Cell]) -> list[Leaf]:
        """Returns the values of cells on the host; an array that several share is copied once."""
        return self._hosts([cell.read() for cell in cells])

    def host(self, value: Any) -> Leaf:
        """Returns a value on the host; what has none is `Unreadable`."""
        if isinstance(value, np.ndarray):
            return value  # described at once, so it is not copied
        if not isinstance(value, self._backend.array_types):
            return np.asarray(value)
        try:
            return self._backend.get(value)
        except (InvalidType, Unsupported):
            shape, dtype, _ = self._backend.spec(value)
            return traces.Unreadable(tuple(shape), dtype)

    def rows(self, nests: Sequence[Any], indices: Sequence[int] = ()) -> list[Sequence[Leaf]]:
        """Returns the values of each replica's nest.  indices: of these local replicas, not of all."""
        if all(map(isinstance, nests, repeat(self._backend.array_types))):
            return [(leaf,) for leaf in self._hosts(nests)]
        return [self.leaves(nest, index) for index, nest in zip(indices or range(len(nests)), nests, strict=True)]

    def _hosts(self, arrays: Sequence[Any]) -> list[Leaf]:
        """Returns arrays on the host; for those that are one array, or views of a whole one, the same object."""
        found: list[Leaf] = []
        last: Any = None
        last_base: Any = None
        for array in arrays:
            is_host = isinstance(array, np.ndarray)
            base = array.base if is_host else None
            if array is last or (base is not None and base is last_base and _are_one(array, last, base)):
                found.append(found[-1])
            else:
                found.append(array if is_host else self.host(array))  # described at once, so it is not copied
            last, last_base = array, base
        return found

    def leaves(self, nest: Any, index: int) -> list[Leaf]:
        """Returns the arrays and numbers of a nest, of distributed values the component of a replica."""
        found: list[Leaf] = []
        for leaf in tree.flatten(nest)[0]:
            if leaf in self._drawn:
                continue
            one = leaf.values[index] if isinstance(leaf, DistributedValues) and index < len(leaf.values) else leaf
            if isinstance(one, (*self._backend.array_types, np.ndarray, np.generic, bool, int, float, complex)):
                found.append(self.host(one))
        return found


@final
class _RecordedMatcher:
    """The matcher of one run whose points are recorded; see `CollectiveMatcher`."""

    __slots__ = ("_inner", "_observer")

    def __init__(self, observer: Observer, inner: Matcher) -> None:
        self._observer = observer
        self._inner = inner

    def match(self, calls: list[Any], order: list[int]) -> Sequence[Any]:
        """Returns the answers, and records what came and what went."""
        observer = self._observer
        depth = self._begin(calls, order)
        try:
            answers = self._inner.match(calls, order)
        except BaseException as error:
            observer.recorder.leave(observer.worker, depth, error=described(error))
            raise
        observer.recorder.leave(observer.worker, depth, observer.rows(answers))
        return answers

    def failed(self, index: int, error: BaseException, calls: list[Any], order: list[int]) -> None:
        """Records that a replica raised, and where the others were waiting."""
        observer = self._observer
        self._inner.failed(index, error, calls, order)
        depth = self._begin(calls, [*order, index], raised=(index, error))
        observer.recorder.leave(observer.worker, depth, error=described(error))

    def _begin(self, calls: list[Any], order: list[int], raised: tuple[int, BaseException] | None = None) -> int:
        observer = self._observer
        recorder, worker = observer.recorder, observer.worker
        all_came = len(order) == len(calls) and FINISHED not in calls and None not in calls
        came = order if all_came else [i for i in order if calls[i] is not FINISHED and calls[i] is not None]
        here = sorted(came)
        requests = [calls[index][0] for index in here]
        alike = all_came and requests.count(requests[0]) == len(requests)
        take = _taking(requests[0].kind) if alike else _brought
        rows = observer.rows([take(calls[index]) for index in here], here)
        depth = recorder.depth(worker)
        first = requests[0] if came else _NONE_YET
        sites = [calls[index][2] for index in came]
        texts = () if alike else [self._text(calls, order, index, raised) for index in range(len(calls))]
        ranks = [observer.ranks[index] for index in came]
        recorder.begin(worker, first, ranks, sites, rows, texts)
        return depth

    def _text(self, calls: list[Any], order: list[int], index: int, raised: tuple[int, BaseException] | None) -> str:
        rank, call = self._observer.ranks[index], calls[index]
        if raised is not None and index == raised[0]:
            text = f"raised {type(raised[1]).__name__}"
        elif call is FINISHED:
            text = "had returned"
        elif call is None or index not in order:
            text = "had not started this call"
        else:
            text = f"{describe_request(call[0])} at {describe_site(call[2])}"
        return f"replica {rank}: {text}"


def _are_one(array: Any, other: Any, base: Any) -> bool:
    """Returns whether two arrays [...] are views of all of their base, an array of NumPy."""
    if not isinstance(base, np.ndarray):
        return False
    return bool(base.shape == array.shape == other.shape and base.strides == array.strides == other.strides)


def _brought(call: Any) -> Any:
    """Returns the nest of values that a replica brings to its call."""
    return _taking(call[0].kind)(call)


def _taking(kind: str) -> Callable[[Any], Any]:
    """Returns what takes the nest of values from a call of this kind."""
    return _called if kind in _CALLS else _written if kind in _WRITES else _SIZE if kind == "sizes" else _PAYLOAD


def _called(call: Any) -> Any:
    return call[1].args, call[1].kwargs


def _written(call: Any) -> Any:
    return call[1][1]


def described(error: BaseException) -> tuple[str, str]:
    """Returns the class and the text of an exception, without addresses."""
    return type(error).__name__, error_text(error)


def observer_of(backend: Backend, trace: "traces.AnyTrace | None") -> Observer | None:
    """Returns an observer for a trace that keeps values, and None for one that keeps none."""
    return Observer(backend, trace) if trace is not None and isinstance(trace, traces.Recorder) else None
