"""Connects the workers of a simulated cluster: each group-call waits until every worker has made its call.

A worker is a task. The link of its backend suspends the task with what it contributes; when all workers are suspended,
one result is made of all parts, and every worker gets it.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, final

from simstrategy.errors import PeerFailed
from simstrategy.run import FINISHED, StatusMessage, SuspendTask
from simstrategy.sim.backend import Link

__all__ = ["Fabric"]


class _Call(NamedTuple):
    """One worker's group-call: travels as a plain tuple of these fields."""

    name: str
    part: Any
    combine: Callable[[list[Any]], Any]


class _Ended(NamedTuple):
    """The answer where a worker has ended without a message."""

    worker: int


def _is_farewell(message: bytes | None) -> bool:
    """Returns whether a worker's last message states that it sends no more."""
    return message is not None and StatusMessage.decode(message).status in ("left", "failed")


@final
class Fabric:
    """The connections of `workers` tasks."""

    __slots__ = ("_last_messages",)

    def __init__(self, workers: int) -> None:
        self._last_messages: list[Any] = [None] * workers

    def link(self, suspend: SuspendTask) -> Link:
        """Returns the link of one worker's backend; `suspend` is its task's.

        It raises PeerFailed where a worker has ended without a message, as one does that was killed.
        """

        def call(name: str, part: Any, combine: Callable[[list[Any]], Any]) -> Any:
            answer = suspend(name, part, combine)
            if isinstance(answer, _Ended):
                raise PeerFailed(
                    f"Worker {answer.worker} of the simulated cluster has ended without a message. Read how it ended: "
                    f"Cluster.outcomes has its error."
                )
            return answer

        return call

    def match(self, calls: list[Any], order: list[int]) -> Sequence[Any]:
        """Answers one group-call of every worker.  For a worker that has left, its last message is repeated."""
        for worker, (call, last) in enumerate(zip(calls, self._last_messages, strict=True)):
            if call is FINISHED and not _is_farewell(last):
                return [_Ended(worker)] * len(calls)
        made = [_Call(*call) for call in calls if call is not FINISHED]
        first = made[0]
        assert all(call.name == first.name for call in made), "the messages before would have shown a difference"
        assert first.name == "exchange" or len(made) == len(calls), "a worker left without a message"
        parts = [last if call is FINISHED else call[1] for call, last in zip(calls, self._last_messages, strict=True)]
        if first.name == "exchange":
            self._last_messages = parts
        result = first.combine(parts)
        return [result] * len(calls)
