"""Compares the calls of the workers of one run, in the order in which each of them makes them.

A worker reports each call before it makes it. What is found ends the run: TensorFlow would wait, or combine what does
not belong together. Nothing here starts or reads processes.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, final

from simstrategy.run.status import disagreement
from simstrategy_tf_distribute.call import Call, alike

__all__ = ["Finding", "Matching", "call_of", "message_of"]

_RETURNED: Final = "returned from the program"
_RUNNING: Final = "has made no further call"


class Finding(NamedTuple):
    """What ends a run.  kind: the name of an error. text: of it."""

    kind: str
    text: str


def message_of(call: Call) -> dict[str, Any]:
    """Returns a call as JSON has it."""
    return {"call": call.what, "forms": [[shape, dtype] for shape, dtype in call.forms], "site": call.site}


def call_of(message: Mapping[str, Any]) -> Call:
    """Returns the call of a message."""
    forms = tuple([(None if shape is None else tuple(shape), dtype) for shape, dtype in message["forms"]])
    return Call(message["call"], forms, (message["site"][0], message["site"][1]))


@final
class Matching:
    """The calls of `count` workers."""

    def __init__(self, count: int) -> None:
        self._calls: list[list[Call]] = [[] for _ in range(count)]
        self._alike = 0
        """How many calls all workers have made alike."""
        self._raised: dict[int, tuple[str, str, str]] = {}
        self._ended: set[int] = set()

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
