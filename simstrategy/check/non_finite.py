"""Finds the first value that is not finite and enters a collective or a `reduce`: which replica sent it, and where.

A wrapper around a check's backend examines the collectives; the strategy passes it the inputs of `reduce`. Changes no
value and raises nothing, since a program may use NaNs on purpose.
"""

from collections.abc import Sequence
from typing import final

import numpy as np

from simstrategy.device import Array, ArraySpec, Backend, Op
from simstrategy.device.wrapper import Wrapper
from simstrategy.errors import InvalidType, Unsupported
from simstrategy.trace import Site, Trace, describe_site

__all__ = ["NonFiniteProbe"]


@final
class NonFiniteProbe(Wrapper):
    """Wraps a backend and keeps, as a sentence, the first value that is not finite.  trace: the program's."""

    __slots__ = ("_ranks", "_trace", "_worker", "found")

    def __init__(self, inner: Backend, trace: Trace) -> None:
        Wrapper.__init__(self, inner)
        self._trace = trace
        self._ranks = tuple(device.rank for device in inner.local_devices)
        self._worker = inner.local_devices[0].process
        self.found: str | None = None

    def all_reduce(self, arrays: tuple[Array, ...], op: Op) -> tuple[Array, ...]:
        self._examine(self._ranks, arrays, None)
        return self._inner.all_reduce(arrays, op)

    def reduce(self, arrays: tuple[Array, ...], op: Op, *, root: int) -> Array | None:
        self._examine(self._ranks, arrays, None)
        return self._inner.reduce(arrays, op, root=root)

    def all_gather(self, arrays: tuple[Array, ...], *, axis: int, sizes: tuple[int, ...]) -> tuple[Array, ...]:
        self._examine(self._ranks, arrays, None)
        return self._inner.all_gather(arrays, axis=axis, sizes=sizes)

    def broadcast(self, array: Array | None, *, spec: ArraySpec, root: int) -> tuple[Array, ...]:
        if array is not None:
            self._examine((root,), (array,), None)
        return self._inner.broadcast(array, spec=spec, root=root)

    def watch(self, call: str, arrays: Sequence[Array], site: Site) -> None:
        """Examines the replicas' arrays [any shape] of a `reduce`, before each is summed.  The strategy calls it."""
        self._examine(self._ranks, arrays, f"{call} at {describe_site(site)}")

    def _examine(self, ranks: Sequence[int], arrays: Sequence[Array], call: str | None) -> None:
        if self.found is not None:
            return
        for rank, array in zip(ranks, arrays, strict=True):
            _, dtype, _ = self._inner.spec(array)
            if not dtype.startswith(("float", "bfloat", "complex")):
                continue
            try:
                host = self._inner.get(array)
            except (InvalidType, Unsupported):
                continue  # a framework traces, and has no value yet
            wrong = np.argwhere(~np.isfinite(host))
            if len(wrong):
                self.found = self._described(rank, host, wrong, call)
                return

    def _described(self, rank: int, host: np.ndarray, wrong: np.ndarray, call: str | None) -> str:
        events = list(self._trace.events(worker=self._worker))
        step = sum(event.kind == "run" for event in events)
        if call is None:
            # The trace holds a collective before its group-call is made: once per replica, or once per worker.
            event = next((one for one in reversed(events) if one.replica in (rank, None)), events[-1])
            words = (event.kind, None if event.subject is None else repr(event.subject), event.op)
            call = f"{' '.join(word for word in words if word is not None)} at {event.site}"
        first = tuple(int(index) for index in wrong[0])
        place = f" at {list(first)}" if first else ""
        others = f", {len(wrong)} of {host.size} elements are not finite" if host.size > 1 else ""
        return (
            f"step {step}, replica {rank}: {host.dtype.name}{list(host.shape)} that entered {call} is "
            f"{host[first]!s}{place}{others}"
        )
