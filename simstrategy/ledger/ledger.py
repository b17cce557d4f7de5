"""`ledger`: how much every sample of a global batch counts with several replicas, compared with one."""

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from simstrategy.errors import InvalidArgument
from simstrategy.ledger.arguments import Step, require_step, rows_of, rows_with_nan, several_counts
from simstrategy.ledger.probing import Measured, Run, measure
from simstrategy.ledger.problems import numbers_in_words, problems_of
from simstrategy.ledger.report import Entry, Ledger
from simstrategy.ledger.results import describe_step
from simstrategy.ledger.weights import alone, effective_weights
from simstrategy.short_repr import short_repr
from simstrategy.strategy import Semantics

__all__ = ["ledger"]


def ledger(
    step: Step,
    batch: Any,
    *,
    replicas: Sequence[int] = (1, 2, 3, 4),
    backend: str = "sim",
    semantics: Semantics = Semantics.TF1_15,
) -> Ledger:
    """Measures how much every sample of a batch counts in what a step returns, compared with one replica.

    step: `step(strategy, batch, probe)` distributes `batch` and `probe` alike, takes the rows of `probe` [rows, probes]
    in place of the samples' gradients, or losses, and returns what its reductions make of them: an array [probes], a
    PerReplica value of such arrays, or a nest of these. probe: zeros with a 1 for each sample, float64 (float32 where
    the backend has no other). With a framework's gradients, `probe @ z` is added to the losses, where z [probes] is a
    parameter of zeros, and the reduced gradient of z is returned. The step is linear in the rows, and gives equal
    results each time. batch: a nest of arrays [rows, …], one row for each sample. replicas: each number is compared
    with one replica. backend: by name.

    A weight is an exact fraction: 1 where the step is right, 2 for a sample that counts twice, 0 for a lost one. The
    step runs 3 or 4 times for each number of replicas, for more than 2,048 samples samples² / 4,000,000 times more.

    Raises InvalidArgument and InvalidType for a step or batch that cannot be measured, and whatever the step raises.
    Clauses: L-1 to L-5.

    >>> import numpy as np
    >>> import simstrategy as ss
    >>> def step(strategy, batch, probe):
    ...     def replica(rows):
    ...         ctx = ss.get_replica_context()
    ...         return ctx.all_reduce("MEAN", ctx.xp.mean(rows, axis=0))  # wrong: a mean of means
    ...     for rows in strategy.experimental_distribute_dataset([probe]):
    ...         return strategy.run(replica, args=(rows,))
    >>> found = ss.ledger(step, np.arange(3), replicas=[2])
    >>> found.right, *found.weights(2)
    (False, Fraction(3, 4), Fraction(3, 4), Fraction(3, 2))
    """
    require_step(step)
    samples = rows_of(batch)
    counts = several_counts(replicas)
    _require_settings(backend, semantics)
    return _compared(Run(step, batch, samples, backend, semantics), counts)


def _compared(run: Run, counts: Sequence[int]) -> Ledger:
    """Returns the ledger of numbers of replicas, each compared with one."""
    one = measure(run, 1)
    _require_reference(run, one)
    several = [(replicas, measure(run, replicas)) for replicas in counts]
    entries = tuple(
        _entry(one, found, index, replicas) for index in range(len(one.paths)) for replicas, found in several
    )
    remarks = (*_remarks_on_one(one), *_remarks_on_parts(entries, run.samples))
    return Ledger(describe_step(run.step), run.samples, run.backend, entries, remarks)


def _require_settings(backend: object, semantics: object) -> None:
    if not isinstance(backend, str):
        raise InvalidArgument(
            f"backend is a name, such as 'sim', got {short_repr(backend)}: it is opened for each number of replicas."
        )
    if not isinstance(semantics, Semantics):
        raise InvalidArgument(f"semantics is a profile such as Semantics.TF2, got {short_repr(semantics)}.")


def _require_reference(run: Run, one: Measured) -> None:
    """Raises InvalidArgument where one replica's results are no reference: not finite, or without any sample."""
    if not one.finite:
        rows = rows_with_nan(run.batch)
        where = f" The batch has values that are not finite in row {numbers_in_words(rows)}." if rows else ""
        raise InvalidArgument(
            f"The step's result is NaN or infinite with one replica, so there is nothing to compare with.{where} "
            f"Give a batch and a step whose results are finite."
        )
    for path, weights in zip(one.paths, one.weights, strict=True):
        if not weights.any():
            raise InvalidArgument(
                f"With one replica no sample changes the step's {path}: the probe rows have no way into it. Use them "
                f"in place of the samples' losses or gradients, and return what the reductions make of them."
            )


def _entry(one: Measured, found: Measured, index: int, replicas: int) -> Entry:
    """Returns the entry of one result.  Raises InvalidArgument where the step returned others with one replica."""
    path = one.paths[index]
    if found.paths != one.paths:
        raise InvalidArgument(
            f"The step returned {', '.join(one.paths)} with one replica and {', '.join(found.paths)} with {replicas}. "
            f"Return the same results with every number of replicas."
        )
    if not found.finite:
        problem = (
            "The result is NaN or infinite, and is not with one replica, so no sample has a weight. The mean of an "
            "empty part is NaN."
        )
        return Entry(path, replicas, (), (), (), (problem,))
    rows = effective_weights(one, found, index, replicas)
    reference = one.weights[index][0]
    extra = [int(one) for one in ((reference == 0) & (found.weights[index] != 0).any(axis=0)).nonzero()[0]]
    differ = any(row != rows[0] for row in rows)
    parts = found.parts
    if parts is None and differ:
        parts = tuple(tuple(rank for rank, weight in enumerate(column) if weight) for column in zip(*rows, strict=True))
    problems = tuple(problems_of(rows, extra, parts, alone(one, index), replicas))
    return Entry(path, replicas, rows[0], rows if differ else (), parts or (), problems)


def _remarks_on_one(one: Measured) -> Iterator[str]:
    """Yields where samples count unequally with one replica, which no ratio to it shows."""
    for index, path in enumerate(one.paths):
        shares = alone(one, index)
        if shares is None:
            yield f"With one replica the samples do not all count alike in {path}. Right is what one replica does."
        elif len(set(shares)) > 1:
            by_share: dict[str, list[int]] = {}
            for sample, share in enumerate(shares):
                by_share.setdefault("nothing" if share is None else str(share), []).append(sample)
            texts = [f"{numbers_in_words(samples)} count {share}" for share, samples in list(by_share.items())[:6]]
            yield (
                f"With one replica the samples do not all count alike in {path}: {'; '.join(texts)}"
                f"{'; …' if len(by_share) > 6 else ''}. Weights, masks and partial windows do that; "
                f"it is not judged."
            )


def _remarks_on_parts(entries: Sequence[Entry], samples: int) -> Iterator[str]:
    """Yields what was not tried: where all parts were of one size, a mean of means is a mean."""
    known = [entry for entry in entries if entry.parts]
    if not known:
        yield (
            "No probe row entered a reduction of the strategy, so which replica had which sample is not known. The "
            "weights mean nothing if the step does not run on the replicas."
        )
        return
    uneven = empty = False
    for entry in known:
        sizes = [sum(replica in one for one in entry.parts) for replica in range(entry.replicas)]
        uneven |= len(set(sizes)) > 1
        empty |= 0 in sizes
    if not uneven:
        yield (
            f"All replicas had equally many of the {samples} samples, so a mean of means was not looked for. Use a "
            f"number of samples that the numbers of replicas do not divide, such as {_uneven(samples, known)}."
        )
    elif not empty:
        yield "No replica was without samples. Use fewer samples than replicas to try that."


def _uneven(samples: int, entries: Sequence[Entry]) -> int:
    """Returns the next number of samples that some number of replicas does not divide."""
    return next(more for more in count(samples + 1) if any(more % entry.replicas for entry in entries))
