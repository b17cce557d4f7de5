"""A backend of `torch.distributed` under examination: its worlds, and what every rank answered, judged.

What a backend refuses on every rank is not offered, which is no fault; what it does on some ranks only, or in some rows
of one op and dtype only, is.
"""

from typing import final

import pytest

from simstrategy.errors import BackendUnavailable
from simstrategy_conformance.c10d.answers import Answer
from simstrategy_conformance.c10d.inputs import index_of, members_of
from simstrategy_conformance.c10d.names import named
from simstrategy_conformance.c10d.offers import Offers
from simstrategy_conformance.c10d.world import Lost, World
from simstrategy_conformance.covered import Costly
from simstrategy_conformance.covering import Row
from simstrategy_conformance.profiles import PROFILES, Profile
from simstrategy_conformance.tally import noted

__all__ = ["C10dSubject"]


@final
class C10dSubject:
    """A backend by name, under a profile and a seed.

    limit_s: how long one call may take. start_s: how long the ranks of a world may take to join. lost_max: after so
    many lost worlds no other one is opened, for each has cost the limit of a call.
    """

    def __init__(
        self,
        name: str,
        *,
        profile: Profile = PROFILES["default"],
        seed: int = 0,
        limit_s: float = 30.0,
        start_s: float = 180.0,
        lost_max: int = 6,
    ) -> None:
        self.name = name
        self.profile = profile
        self.seed = seed
        self._named = named(name)
        self._limits_s = limit_s, start_s
        self._worlds: dict[int, World] = {}
        self._lost, self._lost_max = 0, lost_max
        self._offers = Offers()
        self._faulty: set[str] = set()

    def require_usable(self) -> None:
        """Opens a world of one rank.  Raises BackendUnavailable where it cannot be opened."""
        try:
            (joined,) = self._world(1).joined
        except Lost as error:
            raise BackendUnavailable(f"{self.name} cannot be examined: {error}") from error
        if joined.status == "missing":
            raise BackendUnavailable(f"{self.name} cannot be examined: {joined.text}")
        if joined.status != "right":
            raise BackendUnavailable(f"{self.name} cannot be examined: one rank could not join: {joined.text}")

    def open(self, ranks: int) -> World:
        """Returns the world of so many ranks, kept; skips the test where this machine lacks what they need.

        Raises Lost where ranks end or hang while they join, AssertionError where they raise.
        """
        world = self._world(ranks)
        for rank, joined in enumerate(world.joined):
            if joined.status == "missing":
                pytest.skip(joined.text)
            if joined.status != "right":
                raise AssertionError(f"rank {rank} of {ranks} could not join: {joined.text}")
        return world

    def can_open(self, ranks: int) -> bool:
        """Returns whether this machine has what so many ranks need."""
        try:
            return all(one.status != "missing" for one in self._world(ranks).joined)
        except Lost:
            return True  # the tests report it

    def reopen(self, ranks: int) -> None:
        """Ends the world of so many ranks, and starts another one in its place.  Raises as `open` does."""
        if ranks in self._worlds:
            self._worlds[ranks].close()
        self.open(ranks)

    def _world(self, ranks: int) -> World:
        kept = self._worlds.get(ranks)
        if kept is not None and kept.is_open:
            return kept
        if self._lost >= self._lost_max:
            pytest.skip(f"Not tried: {self._lost} worlds were lost before.")
        limit_s, start_s = self._limits_s
        try:
            self._worlds[ranks] = World(self._named, ranks, limit_s=limit_s, start_s=start_s)
        except Lost:
            self._lost += 1
            raise
        return self._worlds[ranks]

    def answers(self, call: str, row: Row) -> list[Answer]:
        """Makes all ranks make a call; returns their answers, by rank.  Raises as `open` does."""
        world = self.open(row.ranks)
        try:
            answers = world.carry_out(call, row)
        except Lost:
            self._lost += 1
            raise
        ends = {one.status for one in answers if one.status != "absent"}
        if "wrong" in ends or (len(ends) > 1 and not (_is_to_root(call) and _is_collective(call))):
            world.close()  # of a call that some ranks have left, messages may be on their way
        return answers

    def examine(self, call: str, row: Row, *, test: str, required: bool = False) -> None:
        """Fails unless every rank's answer to a call is right, or every rank refuses.

        test: the name of what is counted. required: whether every backend has to offer it.
        """
        __tracebackhide__ = True
        try:
            self._examine(call, row, test, required=required)
        except AssertionError:
            if not (row.strided or row.late):
                self._faulty.add(call)
            raise

    def _examine(self, call: str, row: Row, test: str, *, required: bool) -> None:
        __tracebackhide__ = True
        answers = self.answers(call, row)
        members = [rank for rank in members_of(row.part, row.ranks) if answers[rank].status != "absent"]
        for rank in members:
            if answers[rank].status == "wrong":
                raise AssertionError(f"{call}, rank {rank} of {row.ranks}: {answers[rank].text}")
        refused = [rank for rank in members if answers[rank].status == "refused"]
        if refused:
            text = answers[refused[0]].text
            is_whole = len(refused) == len(members) or (_is_to_root(call) and members[index_of(row)] in refused)
            if not is_whole:
                done = next(rank for rank in members if rank not in refused)
                raise AssertionError(f"{call}: rank {refused[0]} of {row.ranks} refuses, and rank {done} not: {text}")
            if required:
                raise AssertionError(f"{call} of {row.dtype} is refused, which every backend offers: {text}")
        digests = {answers[rank].digest for rank in members}
        if not refused and len(digests) > 1:
            raise AssertionError(f"{call}: the result is not bitwise identical in all {len(members)} processes")
        if members:
            self._count(test, call, row, answers[refused[0]].text if refused else "")

    def _count(self, test: str, call: str, row: Row, refusal: str) -> None:
        """Counts what is offered; a row that is refused while others are carried out may have left messages behind."""
        try:
            self._offers.count(test, call, row, refusal)
        except AssertionError as error:
            self._worlds[row.ranks].close()
            raise Costly(str(error)) from None

    def is_faulty(self, call: str) -> bool:
        """Returns whether a test has failed over a call that waits, of contiguous tensors."""
        return call in self._faulty

    def note(self, test: str) -> None:
        """Notes what a test has found not to be offered."""
        noted.setdefault(test, []).extend(("not offered", line) for line in self._offers.lines(test))

    def require_offer(self, test: str) -> None:
        """Skips a test of which nothing is offered."""
        refusal = self._offers.refusal(test)
        if refusal:
            pytest.skip(f"{self.name} offers nothing of this: {refusal}")

    def close(self) -> None:
        """Ends all worlds."""
        while self._worlds:
            self._worlds.popitem()[1].close()


def _is_to_root(call: str) -> bool:
    """Returns whether a call gives one rank a result: where that one refuses, nothing is offered."""
    return call.partition(" ")[0] in ("reduce", "gather", "recv_any")


def _is_collective(call: str) -> bool:
    """Returns whether no message of others is left where one rank refuses a call."""
    return call.partition(" ")[0] != "recv_any"
