"""Which ranks can never continue, from who waits for whom.  A pure function of numbers."""

from collections.abc import Collection, Iterable, Mapping

__all__ = ["stuck"]


def stuck(running: Collection[int], needs: Mapping[int, Iterable[Collection[int]]]) -> set[int]:
    """Returns the waiting ranks that no rank's going on can help.

    running: the ranks that neither wait nor have ended. needs: for each waiting rank and each call that it waits in,
    the ranks whose calls are missing. A call is completed only if all of them go on; a rank goes on if one of its calls
    is completed.

    >>> sorted(stuck({3}, {0: [{1}], 1: [{0}], 2: [{3}]}))
    [0, 1]
    """
    moving = set(running)
    waiting = set(needs)
    while True:
        found = {rank for rank in waiting if any(moving.issuperset(missing) for missing in needs[rank])}
        if not found:
            return waiting
        moving |= found
        waiting -= found
