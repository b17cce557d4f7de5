"""Compares the calls of the workers of one run, in the order in which each of them makes them.

A worker reports each call before it makes it. What is found ends the run: the library would wait, or combine what does
not belong together. Nothing here starts or reads processes.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, final

from simstrategy.launch.calls import Call, alike
from simstrategy.run.status import disagreement

__all__ = ["Finding", "Matching", "Unequal"]

_RETURNED: Final = "returned from the program"
_RUNNING: Final = "has made no further call"


class Finding(NamedTuple):
    """What ends a run.  kind: the name of an error. text: of it."""

    kind: str
    text: str


class Unequal(NamedTuple):
    """A call to which workers brought unequal copies of a value.

    number: of the call, from 1. value: its place among the values of the call. call: of worker 0. same: the workers
    that have the copy of worker 0.
    """

    number: int
    value: int
    call: Call
    same: tuple[int, ...]


@final
class Matching:
    """The calls of `count` workers."""

    def __init__(self, count: int) -> None:
        self._calls: list[list[Call]] = [[] for _ in range(count)]
        self._alike = 0
        """How many calls all workers have made alike."""
        self._raised: dict[int, tuple[str, str, str]] = {}
        self._ended: set[int] = set()
        self._unequal: dict[tuple[str, tuple[str, int], int], Unequal] = {}

    @property
    def unequal(self) -> tuple[Unequal, ...]:
        """The first call of each line, and each of its values, of which copies were unequal, in the order of calls."""
        return tuple(self._unequal.values())

    def called(self, worker: int, call: Call) -> None:
        """Notes that a worker is about to make a call."""
        self._calls[worker].append(call)

    def raised(self, worker: int, kind: str, text: str, where: str) -> None:
        """Notes that a worker's program has raised an exception.  kind: its class. where: the line, as a sentence."""
        self._raised[worker] = (kind, text, where)
        self._ended.add(worker)

    def returned(self, worker: int) -> None:
        """Notes that a worker's program has returned."""
        self._ended.add(worker)

    def finding(self) -> Finding | None:
        """Returns what ends the run; None where its workers can go on, or have all ended."""
        while all(len(calls) > self._alike for calls in self._calls):
            here = [calls[self._alike] for calls in self._calls]
            if not all(alike(here[0], one) for one in here):
                return self._disagreement()
            self._alike += 1
            for one in _unequal(self._alike, here):
                self._unequal.setdefault((one.call.what, one.call.site, one.value), one)
        waiting = any(len(calls) > self._alike for calls in self._calls)
        left = [worker for worker in sorted(self._ended) if len(self._calls[worker]) <= self._alike]
        if not (waiting and left):
            return None
        failed = [worker for worker in left if worker in self._raised]
        if failed:
            kind, text, where = self._raised[failed[0]]
            others = [line for worker, line in enumerate(self.lines()) if worker != failed[0]]
            return Finding(kind, "\n  ".join([f"{text} (in worker {failed[0]}, {where}). The others wait:", *others]))
        return self._disagreement()

    def lines(self) -> Sequence[str]:
        """Returns what each worker does that is not alike, one line each."""
        return [f"worker {worker}: {self._state(worker)}" for worker in range(len(self._calls))]

    def _state(self, worker: int) -> str:
        calls = self._calls[worker]
        if len(calls) > self._alike:
            return calls[self._alike].text()
        if worker in self._raised:
            kind, text, _ = self._raised[worker]
            return f"raised {kind}: {text}"
        if worker in self._ended:
            return _RETURNED
        return f"{_RUNNING} after {calls[-1].text()}" if calls else _RUNNING

    def _disagreement(self) -> Finding:
        return Finding("ReplicasDisagree", disagreement(self.lines(), who="workers"))


def _unequal(number: int, calls: Sequence[Call]) -> Iterator[Unequal]:
    """Yields the values of which workers brought unequal copies to a call that is alike."""
    for value, digests in enumerate(zip(*[call.copies for call in calls], strict=False)):
        if len({*digests}) > 1 and all(digests):
            same = tuple([worker for worker, digest in enumerate(digests) if digest == digests[0]])
            yield Unequal(number, value, calls[0], same)
