"""What replicas give the modules of a script: whether the runs on two numbers of replicas have one global batch."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from simstrategy.check.across import counted
from simstrategy.check.scripts.facts import Inputs, Order, ScriptRun

__all__ = ["OTHER_DATA", "are_other_data", "is_shared_out", "joins_apart", "other_orders", "other_rows"]

OTHER_DATA: Final = (
    "what each rank gives its first module is its own, and the same whatever the number of ranks, so the runs have "
    "other global batches: divide the batch size by the number of ranks, such as {64//replicas} in an argument for 64 "
    "in all. Ranks that have parts of one model share no batch out: give them all the same rows where they compute "
    "together, as by tensor parallelism; where they are stages, this law has nothing to compare: leave it out with "
    "--not replicas"
)


_JOINED: Final = (
    "replicas join before others, and {}: the runs do not share out the same batches. Give each number of replicas the "
    "same rows in as many steps, such as by a batch size of {{64//replicas}} in an argument"
)


def are_other_data(one: Sequence[Inputs], other: Sequence[Inputs], *, is_stated: bool) -> bool:
    """Returns whether two runs are known to have other global batches.

    So it is where the replicas that both have in common are given the same, and others something else, unless all
    together are given as many rows up to the first step in both: then they share out the turns of an accumulation. So
    it is too where every replica is given as many rows, whatever their number, unless an argument depends on it
    (is_stated): it states that the runs have one batch. Replicas that are all given the same share no batch out.
    """
    found = [[given.digest for given in run] for run in (one, other)]
    common = min(map(len, found))
    if not common or None in (*found[0], *found[1]) or any(len({*run}) < len(run) for run in found):
        return False
    if found[0][:common] == found[1][:common]:
        totals = [_rows_of(run) for run in (one, other)]
        if totals[0] is not None and totals[0] == totals[1]:
            return False
        return len({*found[0], *found[1]}) == max(map(len, found)) > common
    return _as_many_rows((*one, *other)) is not None and not is_stated


def is_shared_out(reference: Sequence[Inputs], other: Sequence[Inputs]) -> bool:
    """Returns whether replicas are known to begin with rows of their own each, or all with those of the reference."""
    digests = [given.digest for given in other]
    if None in digests or len(reference) != 1:
        return False
    return len({*digests}) == len(digests) or {*other} == {*reference}


def other_orders(one: Sequence[Order], other: Sequence[Order], counts: tuple[int, int]) -> str | None:
    """Returns that two runs take the rows in other orders, and what to do; None where they do not.

    Each run takes each row once, and one of them shuffles. With one replica a script often has a path of its own,
    without the sampler that shares out; and libraries seed the order of several replicas in another way.
    """
    drawn = {order.site: order for order in one}
    for there in other:
        here = drawn.get(there.site)
        if here is None or not (here.is_shuffled or there.is_shuffled) or not _are_other_rows(here, there):
            continue
        if here.sampler == there.sampler:
            who = f"{here.sampler} draws the order of the rows that {there.site} goes through"
            todo = "Let it draw one order with each number, by a seed that does not depend on the number"
        else:
            who = f"with {counted(counts[0])} {here.sampler} draws the order of the rows that {there.site} goes through"
            who += f", and with {counted(counts[1])} {there.sampler} does"
            todo = "Let one sampler draw with each number"
        start = f"Leave {min(counts)} out of --replicas, or {todo[0].lower()}{todo[1:]}" if min(counts) == 1 else todo
        return (
            f"{who}: the orders are not the same, so the runs train on other batches, and this law has nothing to "
            f"compare. {start}"
        )
    return None


def _are_other_rows(here: Order, there: Order) -> bool:
    """Returns whether two runs have taken other rows by a time when both have taken as many."""
    ends = [np.cumsum([len(rows) for rows in one.rounds]).tolist() for one in (here, there)]
    one, other = [np.concatenate([np.empty(0, np.int64), *order.rounds]) for order in (here, there)]
    begin = 0
    for end in sorted({*ends[0]} & {*ends[1]}):
        if not np.array_equal(np.sort(one[begin:end]), np.sort(other[begin:end])):
            return True
        begin = end
    return False


def joins_apart(one: ScriptRun, other: ScriptRun, counts: tuple[int, int], *, is_stated: bool) -> str | None:
    """Returns that runs in which replicas join before others do not share out the same batches; None elsewhere.

    is_stated: as of `are_other_data`.
    """
    made = one.batches.made, other.batches.made
    if not (one.batches.joined or other.batches.joined):
        return None
    if made[0] != made[1]:
        steps = f"with {counted(counts[0])} there are {made[0]} steps, and with {counted(counts[1])} {made[1]}"
        return _JOINED.format(steps)
    rows = None if is_stated else _as_many_rows((*one.inputs, *other.inputs))
    return None if rows is None else _JOINED.format(f"up to its first step every replica gets {rows} rows")


def other_rows(reference: Sequence[Inputs], other: Sequence[Inputs]) -> str:
    """Returns that all replicas together give their modules other numbers of rows, as a sentence; "" elsewhere.

    Replicas that are given the same share no rows out.
    """
    counts = [_rows_of(run) for run in (reference, other)]
    digests = [given.digest for given in other]
    if None in (*counts, *digests) or not all(counts) or counts[0] == counts[1] or len({*digests}) < len(digests):
        return ""
    return (
        f" Up to its first step all replicas give their modules {counts[1]} rows, and {counts[0]} in the reference: "
        f"the runs may have other global batches."
    )


def _rows_of(run: Sequence[Inputs]) -> int | None:
    """Returns how many rows all replicas give their modules up to the first step; None where that is not known."""
    rows = [given.rows for given in run]
    return None if None in rows else sum(one or 0 for one in rows)


def _as_many_rows(given: Sequence[Inputs]) -> int | None:
    """Returns how many rows replicas give their modules up to the first step; None where they give unlike numbers."""
    rows = {one.rows for one in given}
    return None if len(rows) != 1 or 0 in rows else rows.pop()
