"""Examines the values that enter collectives and a `reduce`, and what comes out of them.

A wrapper around a check's backend finds the first value that is not finite, and the first result of a group-call that
does not follow from the values that entered it; the strategy passes it the inputs of `reduce`. Changes no value and
raises nothing: a program may use NaNs on purpose. Values that do not exist yet, because a framework traces, are left
out.
"""

from collections.abc import Sequence
from typing import final

import numpy as np

from simstrategy.check.not_finite import not_finite_in
from simstrategy.check.sums import first_wrong_copy, first_wrong_element
from simstrategy.device import Array, ArraySpec, Backend, Device, Op
from simstrategy.device.wrapper import Wrapper
from simstrategy.errors import InvalidType, Unsupported
from simstrategy.trace import AnyTrace, Event, Site, describe_site

__all__ = ["GroupCallProbe"]

Hosts = list[np.ndarray] | None
"""Of each local rank its array on the host; None for a value that does not exist yet."""


@final
class GroupCallProbe(Wrapper):
    """Wraps a backend; keeps the first value that is not finite and the first wrong result, each as a sentence.

    trace: the program's. It keeps the dtypes of what is put on devices as well, from which the precision of a result
    follows. Where the group spans processes, every process gathers the terms of each sum before it is made.
    """

    __slots__ = ("_ranks", "_spans", "_trace", "_worker", "dtypes", "found", "wrong")

    def __init__(self, inner: Backend, trace: AnyTrace) -> None:
        Wrapper.__init__(self, inner)
        self._trace = trace
        self._ranks = tuple(device.rank for device in inner.local_devices)
        self._spans = len(inner.local_devices) < len(inner.devices)
        self._worker = inner.local_devices[0].process
        self.found: str | None = None
        self.wrong: str | None = None
        self.dtypes: set[str] = set()
        """The dtypes of what was put on a device."""

    def put(self, value: np.ndarray | Array, device: Device) -> Array:
        placed = self._inner.put(value, device)
        self.dtypes.add(self._inner.spec(placed)[1])
        return placed

    def all_reduce(self, arrays: tuple[Array, ...], op: Op) -> tuple[Array, ...]:
        terms = self._examine(self._ranks, arrays, None)
        every = self._every_term(arrays)
        results = self._inner.all_reduce(arrays, op)
        self._compare(every or terms, results, op)
        return results

    def reduce(self, arrays: tuple[Array, ...], op: Op, *, root: int) -> Array | None:
        terms = self._examine(self._ranks, arrays, None)
        every = self._every_term(arrays)
        result = self._inner.reduce(arrays, op, root=root)
        self._compare(every or terms, () if result is None else (result,), op, first=root)
        return result

    def all_gather(self, arrays: tuple[Array, ...], *, axis: int, sizes: tuple[int, ...]) -> tuple[Array, ...]:
        terms = self._examine(self._ranks, arrays, None)
        results = self._inner.all_gather(arrays, axis=axis, sizes=sizes)
        if terms is not None and not self._spans and self.wrong is None:
            self._compare_copies(np.concatenate(terms, axis), results)
        return results

    def broadcast(self, array: Array | None, *, spec: ArraySpec, root: int) -> tuple[Array, ...]:
        sent = None if array is None else self._examine((root,), (array,), None)
        results = self._inner.broadcast(array, spec=spec, root=root)
        if sent is not None and self.wrong is None:
            self._compare_copies(sent[0], results)
        return results

    def watch(self, call: str, arrays: Sequence[Array], site: Site) -> None:
        """Examines the replicas' arrays [any shape] of a `reduce`, before each is summed.  The strategy calls it."""
        self._examine(self._ranks, arrays, f"{call} at {describe_site(site)}")

    # What enters.

    def _examine(self, ranks: Sequence[int], arrays: Sequence[Array], call: str | None) -> Hosts:
        """Looks for values that are not finite; returns the arrays on the host, unless they are not needed."""
        if self.found is not None and (self.wrong is not None or call is not None):
            return None
        try:
            hosts = [self._inner.get(array) for array in arrays]
        except (InvalidType, Unsupported):
            return None  # a framework traces, and has no value yet
        for rank, host, array in zip(ranks, hosts, arrays, strict=True):
            if self.found is None and self._inner.spec(array)[1].startswith(("float", "bfloat", "complex")):
                wrong = not_finite_in(host)
                if wrong is not None:
                    self.found = self._described(rank, host, wrong, call)
        return hosts

    def _every_term(self, arrays: tuple[Array, ...]) -> Hosts:
        """Gathers the arrays of all ranks, if some are of other processes; all of them do so."""
        if not self._spans:
            return None
        shape = self._inner.spec(arrays[0])[0]
        rows = []
        for array, device in zip(arrays, self.local_devices, strict=True):
            with self._inner.on(device):
                rows.append(self._inner.xp.reshape(array, (1, *shape)))
        try:
            gathered = self._inner.all_gather(tuple(rows), axis=0, sizes=(1,) * len(self.devices))
            return list(self._inner.get(gathered[0]))
        except (InvalidType, Unsupported):
            return None  # of a dtype that is not gathered, or that a framework traces

    # What comes out.

    def _compare(self, terms: Hosts, results: Sequence[Array], op: Op, *, first: int | None = None) -> None:
        if terms is None or self.wrong is not None or len(terms) < len(self.devices):
            return
        for rank, result in zip(self._ranks if first is None else (first,), results, strict=False):
            text = first_wrong_element(terms, self._inner.get(result), op)
            if text is not None:
                self._note_wrong(rank, text)
                return

    def _compare_copies(self, sent: np.ndarray, results: Sequence[Array]) -> None:
        for rank, result in zip(self._ranks, results, strict=True):
            text = first_wrong_copy(sent, self._inner.get(result))
            if text is not None:
                self._note_wrong(rank, text)
                return

    def _note_wrong(self, rank: int, text: str) -> None:
        step, call = self._place(rank)
        self.wrong = f"step {step}, replica {rank}: the result of {call} {text}"

    def _described(self, rank: int, host: np.ndarray, wrong: str, call: str | None) -> str:
        step, entered = self._place(rank)
        what = f"{host.dtype.name}{list(host.shape)} that entered {call or entered}"
        return f"step {step}, replica {rank}: {what} {wrong}"

    def _place(self, rank: int) -> tuple[int, str]:
        """Returns the number of the step, and the call that is being made."""
        events = list(self._trace.events(worker=self._worker))
        step = sum(event.kind == "run" for event in events)
        # The trace holds a collective before its group-call is made: once per replica, or once per worker.
        last: Event | None = events[-1] if events else None
        event = next((one for one in reversed(events) if one.replica in (rank, None)), last)
        if event is None:
            return step, "a group-call"
        words = (event.kind, None if event.subject is None else repr(event.subject), event.op)
        return step, f"{' '.join(word for word in words if word is not None)} at {event.site}"
