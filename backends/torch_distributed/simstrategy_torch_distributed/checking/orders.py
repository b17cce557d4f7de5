"""Who draws the rows that a script trains on, where all ranks together draw each row once in a pass."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from simstrategy.check.scripts.facts import Order

__all__ = ["orders_of"]


def orders_of(ranks: Sequence[Mapping[str, Mapping[str, Any]]]) -> Iterator[Order]:
    """Yields who draws, for each line at which every rank begins a pass.  ranks: by line, what each one noted.

    Shares are all of one number, one on each rank; a sampler that has none draws all rows, which is one rank's alone.
    """
    for site, first in ranks[0].items() if ranks else ():
        found = [noted[site] for noted in ranks if site in noted]
        shares = {tuple(one["share"]) for one in found}
        is_whole = shares == {(rank, len(ranks)) for rank in range(len(ranks))}
        if first["name"] and is_whole and len({(one["name"], one["shuffled"]) for one in found}) == 1:
            yield Order(site, first["name"], first["shuffled"])
