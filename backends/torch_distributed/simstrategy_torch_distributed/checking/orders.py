"""Which rows a script trains on, batch by batch, where all ranks together take each row once in a pass."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from simstrategy.check.scripts.facts import Order
from simstrategy_torch_distributed.watched.entries import Entry

__all__ = ["orders_of"]

Rows = np.ndarray[Any, Any]


def orders_of(ranks: Sequence[Mapping[str, Entry]]) -> Iterator[Order]:
    """Yields the rows of each line at which every rank begins a pass.  ranks: by line, what each one noted.

    Only the last batch of a pass may repeat rows, so that each rank has as many: it is left out then.
    """
    for site, first in ranks[0].items() if ranks else ():
        found = [noted[site] for noted in ranks if site in noted]
        if len(found) < len(ranks) or len({one.facts["name"] for one in found}) > 1:
            continue
        taken = [_batches_of(*one.arrays) for one in found]
        # There are as many as the rank with the fewest has.
        rounds = [np.concatenate(batches) for batches in zip(*taken, strict=False)]
        if not _are_once(rounds):
            rounds = rounds[:-1]
        if rounds and _are_once(rounds):
            ascending = all(bool((np.diff(one.arrays[0]) > 0).all()) for one in found)
            yield Order(site, str(first.facts["name"]), not ascending, tuple(rounds))


def _batches_of(rows: Rows, sizes: Rows) -> list[Rows]:
    """Returns the rows of each batch.  rows: [all]; sizes: [batches], how many each one has."""
    return np.split(rows, np.cumsum(sizes)[:-1])


def _are_once(rounds: Sequence[Rows]) -> bool:
    rows = np.concatenate([*rounds])
    return len(np.unique(rows)) == len(rows)
