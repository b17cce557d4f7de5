"""What ranks and the kit send each other: how a rank joins, which call it makes, and what came of it.

Everything here is data that pickles, without torch.
"""

from typing import Final, Literal, NamedTuple

from simstrategy_conformance.covering import Row

__all__ = ["PLACE", "Answer", "Asked", "Place", "Refused", "Wrong"]

PLACE: Final = "SIMSTRATEGY_C10D"
"""The variable of the environment in which a rank that a command starts finds its place, as JSON."""
Status = Literal["right", "wrong", "refused", "absent", "seen", "missing"]


class Place(NamedTuple):
    """Who a rank is, and how it joins.

    backend, module, object: as in `names.Named`. address, key: where the kit listens, and the secret of both sides.
    folder: of this world. limit_s: of every call. launched: whether a command has started the rank, so that torch finds
    rank, size and store in the environment.
    """

    backend: str
    module: str
    object: str
    address: str
    key: bytes
    folder: str
    limit_s: float
    rank: int = 0
    ranks: int = 1
    launched: bool = False


class Asked(NamedTuple):
    """One call of all ranks.  number: of this call in its world.

    call: the name of a function of `ranks.calls`; with "ends" behind it, works are examined after they were waited for;
    with "events", the call is made once under the profiler, and it is examined who does the work.
    """

    call: str
    row: Row
    number: int


class Answer(NamedTuple):
    """What came of a call in one rank.

    right: as documented. wrong: not; text: what differs. refused: torch or the backend raised; text: what.
    absent: this rank is not in the group. seen: text is what was found, and the documentation leaves it open. missing:
    this machine lacks what the rank needs. digest: of a result that all ranks must have to the bit; 0 for none.
    """

    status: Status
    text: str = ""
    digest: int = 0


class Wrong(AssertionError):
    """A rank found something else than what the documentation has."""


class Refused(Exception):
    """A call of torch raised; is_lost: it was given up, or a peer was lost, which refuses nothing."""

    def __init__(self, text: str, *, is_lost: bool = False) -> None:
        Exception.__init__(self, text)
        self.is_lost = is_lost
