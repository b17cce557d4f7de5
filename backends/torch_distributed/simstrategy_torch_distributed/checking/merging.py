"""Puts what each rank did, in its own order, into one order: what they do together stands once.  Pure; no torch."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import NamedTuple, final

__all__ = ["Moment", "merged"]


class Moment(NamedTuple):
    """Something that one rank did.  key: equal for what several ranks do alike, and once only on each rank.

    members: the ranks that do it together, of a call; None for what a rank does by itself, which stands beside the same
    of the others where they come to it at one place.
    """

    key: Hashable
    members: frozenset[int] | None
    what: object


def merged(ranks: Sequence[Sequence[Moment]]) -> Iterator[Mapping[int, Moment]]:
    """Yields what happens, by rank, in an order that keeps that of each rank and does not depend on time.

    >>> one, two = [[Moment("a", None, rank), Moment("call", frozenset({0, 1}), rank)] for rank in (0, 1)]
    >>> [sorted(together) for together in merged([one, [Moment("b", None, 1), *two]])]
    [[1], [0, 1], [0, 1]]
    """
    merging = _Merging(ranks)
    while merging.heads:
        yield merging.next()


@final
class _Merging:
    """The moments that are left.  heads: the next one of each rank that has one."""

    def __init__(self, ranks: Sequence[Sequence[Moment]]) -> None:
        self._ranks = [list(moments) for moments in ranks]
        self._places = [0] * len(ranks)
        self._taken: list[set[Hashable]] = [set() for _ in ranks]
        """Calls that were taken out of turn."""
        self._ahead: dict[Hashable, set[int]] = defaultdict(set)
        for rank, moments in enumerate(ranks):
            for one in moments:
                self._ahead[one.key].add(rank)
        self.heads: dict[int, Moment] = {}
        for rank in range(len(ranks)):
            self._advance(rank)

    def next(self) -> Mapping[int, Moment]:
        """Takes the next moment that all its ranks have come to; else one that some alone have."""
        for one in self.heads.values():
            wanted = self._ahead[one.key] if one.members is None else one.members
            if all(rank in self.heads and self.heads[rank].key == one.key for rank in wanted):
                return self._take(one, wanted)
        alone = [(len(self._ahead[one.key]), rank) for rank, one in self.heads.items() if one.members is None]
        if alone:  # what the fewest ranks have to come to yet
            _, rank = min(alone)
            return self._take(self.heads[rank], {rank})
        # Calls of several groups that ranks began in different orders: none of them comes first everywhere.
        first = next(iter(self.heads.values()))
        return self._take(first, self._ahead[first.key])

    def _take(self, one: Moment, ranks: frozenset[int] | set[int]) -> Mapping[int, Moment]:
        found = {}
        for rank in sorted(ranks):
            self._ahead[one.key].discard(rank)
            if rank in self.heads and self.heads[rank].key == one.key:
                found[rank] = self.heads[rank]
                self._places[rank] += 1
                self._advance(rank)
            else:
                found[rank] = next(other for other in self._ranks[rank][self._places[rank] :] if other.key == one.key)
                self._taken[rank].add(one.key)
        return found

    def _advance(self, rank: int) -> None:
        moments, place = self._ranks[rank], self._places[rank]
        while place < len(moments) and moments[place].key in self._taken[rank]:
            place += 1
        self._places[rank] = place
        self.heads.pop(rank, None)
        if place < len(moments):
            self.heads[rank] = moments[place]
            self.heads = dict(sorted(self.heads.items()))
