"""What a run found wrong: a text for people, the same as data, and the error that the ranks raise."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from simstrategy.errors import PeerFailed, ReplicasBlocked, ReplicasDisagree, SimStrategyError
from simstrategy.run.status import disagreement

__all__ = [
    "ERRORS",
    "Finding",
    "asleep",
    "blocked",
    "disagreed",
    "diverged",
    "drawn_apart",
    "failed",
    "orders_differ",
    "overdue",
    "sizes_differ",
    "stopped",
    "uncovered",
    "used_early",
]

ERRORS: Mapping[str, type[SimStrategyError]] = {
    one.__name__: one for one in (PeerFailed, ReplicasBlocked, ReplicasDisagree)
}
"""The classes of the errors that ranks raise, by name."""


class Finding(NamedTuple):
    """kind: "disagreement", "blocked", "overdue", "failure", or a law's name.  error: the name of the class.

    lines: of ranks.
    """

    kind: str
    error: str
    text: str
    lines: tuple[str, ...]

    def as_data(self) -> dict[str, Any]:
        """Returns the finding as data for JSON."""
        return {"kind": self.kind, "error": self.error, "text": self.text, "ranks": list(self.lines)}


def disagreed(lines: Sequence[str], group: str) -> Finding:
    """Returns the finding for different calls in one group; group: its name, empty for the group of all ranks."""
    text = disagreement(lines, who="ranks")
    if group:
        text += f"\nThis is in {group}."
    return Finding("disagreement", "ReplicasDisagree", text, tuple(lines))


def sizes_differ(lines: Sequence[str], what: str) -> Finding:
    """Returns the finding for two ranks that exchange different numbers of elements, or dtypes."""
    return _headed("disagreement", "ReplicasDisagree", f"{what} Make both sides equal:", lines)


def blocked(lines: Sequence[str]) -> Finding:
    """Returns the finding for ranks that wait for calls that no rank can make any more."""
    head = "Ranks wait for calls that no rank will make. Make the calls on both sides, in one order on all ranks:"
    return _headed("blocked", "ReplicasBlocked", head, lines)


def used_early(lines: Sequence[str]) -> Finding:
    """Returns the finding for results that are used before they are waited for."""
    head = "Results of asynchronous calls are used before they are there. Call wait() on the returned work first:"
    return _headed("late", "ContextError", head, lines)


def diverged(lines: Sequence[str], parameters: str, by: str) -> Finding:
    """Returns the finding for replicated parameters that are not equal on all ranks.  by: what declares them so."""
    head = f"Not equal on all ranks: {parameters}, {by}. Give every rank the same update, or average them:"
    return _headed("state", "ReplicasDisagree", head, lines)


def uncovered(lines: Sequence[str], what: str, remedy: str) -> Finding:
    """Returns the finding for a pass over a dataset in which samples are lost or repeated."""
    return _headed("coverage", "ReplicasDisagree", f"In {what}. {remedy}:", lines)


def drawn_apart(lines: Sequence[str], parameters: str) -> Finding:
    """Returns the finding for parameters that ranks draw unequally, and that are trained as if they were equal."""
    head = (
        f"Drawn unequally on the ranks, never made equal, and trained with combined gradients: {parameters}. These are "
        f"different draws: give all ranks one seed before the model is made, or broadcast rank 0's values:"
    )
    return _headed("random", "ReplicasDisagree", head, lines)


def orders_differ(lines: Sequence[str], what: str) -> Finding:
    """Returns the finding for shares of a DistributedSampler that are cut from other orders of the samples."""
    head = (
        f"In {what} the shares of DistributedSampler are cut from different draws of the order. Give it one seed, and "
        f"set_epoch one number, on all ranks:"
    )
    return _headed("random", "ReplicasDisagree", head, lines)


def asleep(lines: Sequence[str], *, lacks_ended: bool) -> Finding:
    """Returns the finding for ranks of which some wait outside of calls, and none is left to end these waits.

    lacks_ended: whether one waits for a call that a rank has not made which has ended.
    """
    remedy = "Set the key or release the lock before the wait"
    if lacks_ended:
        remedy = "Let every rank make the same calls before it ends"
    head = f"Every rank waits, and no rank is left that could end it. {remedy}:"
    return _headed("blocked", "ReplicasBlocked", head, lines)


def overdue(lines: Sequence[str], rank: int, limit_s: float) -> Finding:
    """Returns the finding for a rank that has neither called nor ended for the limit that was asked for."""
    head = (
        f"Rank {rank} has neither called nor ended for {limit_s:g} s, the limit of --limit-seconds. Correct what it "
        f"does there, or raise the limit:"
    )
    return _headed("overdue", "PeerFailed", head, lines)


def stopped(lines: Sequence[str], rank: int) -> Finding:
    """Returns the finding for a rank that a signal has stopped, and for which others wait."""
    head = f"Rank {rank} was stopped by a signal, as SIGSTOP does, and no process continues it. Others wait for it:"
    return _headed("blocked", "PeerFailed", head, lines)


def failed(lines: Sequence[str], rank: int) -> Finding:
    """Returns what the other ranks raise when one has failed."""
    head = f"Rank {rank} has failed, so the others cannot continue. Fix that failure first:"
    return _headed("failure", "PeerFailed", head, lines)


def _headed(kind: str, error: str, head: str, lines: Sequence[str]) -> Finding:
    """Returns a finding whose text is a sentence and, below it, the lines."""
    return Finding(kind, error, "\n  ".join([head, *lines]), tuple(lines))
