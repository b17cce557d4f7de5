"""Runs a step with probes, and measures what each sample contributes to each result, for one number of replicas.

A probe is one column of `probe` [rows, probes]: 1 in the row of its sample, 0 in all others. A step that is linear in
the rows gives each column's result apart from all others, so one run carries as many probes as there are columns. The
last column stays zero, so that no result [probes] can be taken for one [samples]. Ratios and verdicts are made
elsewhere.
"""

from collections.abc import Iterator
from contextlib import closing
from math import frexp
from typing import Any, Final, NamedTuple

import numpy as np

from simstrategy.device import open_backend
from simstrategy.errors import InvalidArgument
from simstrategy.ledger.arguments import Step, copy_of
from simstrategy.ledger.contributions import ContributionRecorder, Entered, first_contributors
from simstrategy.ledger.results import Returned, is_single, returned_of
from simstrategy.strategy import Semantics, Strategy

__all__ = ["Measured", "Run", "columns_for", "measure"]

_ELEMENTS_MAX: Final = 2**22
"""Of `probe`: 32 MiB of float64. Fewer columns and more runs where it would have more."""
_HEADROOM: Final = 10
"""Bits by which a probe exceeds the results that do not come from probes, to which it may be added."""
_FAR: Final = 2.0**22
"""How much larger and smaller the probes are by which linearity is examined: beyond what programs clip or drop."""


class Run(NamedTuple):
    """What every run of a ledger shares."""

    step: Step
    batch: Any
    samples: int
    backend: str
    semantics: Semantics


class Measured(NamedTuple):
    """What the step makes of each sample with one number of replicas; arrays of each result are in order of `paths`.

    weights: [components, samples], the change of a result for a probe of 1. without: the largest size of each result
    without probes. dtypes: of the results. finite: False where a result is NaN or infinite; weights are empty then.
    parts: the replicas that contribute each sample, None where that is not known.
    """

    paths: tuple[str, ...]
    weights: tuple[np.ndarray, ...]
    without: tuple[float, ...]
    dtypes: tuple[str, ...]
    finite: bool
    parts: tuple[tuple[int, ...], ...] | None


def columns_for(samples: int) -> int:
    """Returns how many samples one run probes.

    >>> columns_for(10), columns_for(10_000)
    (10, 419)
    """
    return max(1, min(samples, _ELEMENTS_MAX // samples))


def measure(run: Run, replicas: int) -> Measured:
    """Runs the step ⌈samples / columns⌉ + 3 times at most with a number of replicas.

    Raises InvalidArgument where the step is not linear in the probes, and what the step raises, with a note.
    """
    width = columns_for(run.samples) + 1
    zero = np.zeros((run.samples, width))
    without, entered = _once(run, replicas, zero)
    base = [float(np.abs(one).max()) for one in without.values]
    dtypes = tuple(one.dtype.name for one in without.values)
    if not _is_finite(without):
        return Measured(without.paths, (), tuple(base), dtypes, finite=False, parts=None)
    scale = 1.0 if not any(base) else 2.0 ** (frexp(max(base) * run.samples)[1] + _HEADROOM)
    found: list[list[np.ndarray]] = [[] for _ in without.paths]
    parts: list[tuple[int, ...]] | None = []
    for first, last in _blocks(run.samples):
        probe = zero.copy()
        probe[np.arange(first, last), np.arange(last - first)] = scale
        with_probes, entered_now = _once(run, replicas, probe)
        _require_alike(without, with_probes, replicas)
        if not _is_finite(with_probes):
            raise InvalidArgument(_not_linear(run, replicas, without, "a probe makes a result infinite or NaN"))
        for rows, before, after in zip(found, without.values, with_probes.values, strict=True):
            changes = after.astype(np.float64) - before
            rows.append(changes[:, : last - first] / scale)
        here = first_contributors(entered, entered_now, last - first)
        parts = None if parts is None or here is None else parts + here
    weights = tuple(np.concatenate(rows, axis=1) for rows in found)
    _require_linear(run, replicas, without, weights, scale)
    known = parts is not None and any(parts)
    return Measured(
        without.paths, weights, tuple(base), dtypes, finite=True, parts=tuple(parts or ()) if known else None
    )


def _blocks(samples: int) -> Iterator[tuple[int, int]]:
    columns = columns_for(samples)
    for first in range(0, samples, columns):
        yield first, min(first + columns, samples)


def _once(run: Run, replicas: int, probe: np.ndarray) -> tuple[Returned, Entered]:
    """Runs the step once; returns its results, and what entered its group-calls."""
    with closing(open_backend(run.backend, replicas=replicas)) as backend:
        recorder = ContributionRecorder(backend, probe.shape[1])
        given = probe if "float64" in backend.capabilities.dtypes else probe.astype(np.float32)
        with closing(Strategy.mirrored(recorder, semantics=run.semantics)) as strategy:
            try:
                returned = run.step(strategy, copy_of(run.batch), given.copy())
            except Exception as error:
                error.add_note(f"ledger: the step raised this with {replicas} replicas, probe {list(probe.shape)}.")
                raise
            return returned_of(strategy, returned, probe.shape[1]), recorder.entered


def _is_finite(returned: Returned) -> bool:
    return all(bool(np.isfinite(one).all()) for one in returned.values)


def _require_alike(without: Returned, found: Returned, replicas: int) -> None:
    """Raises InvalidArgument where two runs returned other results or other forms of them."""
    forms = [
        [(path, one.shape, one.dtype.name) for path, one in zip(each.paths, each.values, strict=True)]
        for each in (without, found)
    ]
    if forms[0] != forms[1]:
        raise InvalidArgument(
            f"The step returned {forms[0]} with one probe and {forms[1]} with another, with {replicas} replicas. "
            f"Return the same results in the same form every time."
        )


def _require_linear(run: Run, replicas: int, without: Returned, weights: tuple[np.ndarray, ...], scale: float) -> None:
    """Runs the step with sums of all probes, much larger and much smaller ones, and compares with their weights.

    Raises InvalidArgument where they differ by more than rounding. What does not come from probes hides small ones.
    """
    columns, samples = columns_for(run.samples), np.arange(run.samples)
    mixed = np.zeros((run.samples, columns + 1))
    mixed[samples, samples % columns] = 2.0
    mixed[samples, (samples + 1) % columns] += 1.0
    is_affine = any(bool(one.any()) for one in without.values)
    for size in (-_FAR * scale,) if is_affine else (-_FAR * scale, scale / _FAR):
        found, _ = _once(run, replicas, mixed * size)
        _require_alike(without, found, replicas)
        for path, rows, before, after in zip(without.paths, weights, without.values, found.values, strict=True):
            change = (after.astype(np.float64) - before) / size
            expected, sizes = rows @ mixed, np.abs(rows) @ np.abs(mixed)
            unit = float(np.finfo(np.float32 if is_single(after) else before.dtype).eps)
            bound = unit * (64 + 4 * run.samples) * (sizes + np.abs(before / size))
            wrong = np.argwhere(~(np.abs(change - expected) <= bound))
            if len(wrong):
                place = tuple(int(one) for one in wrong[0])
                what = (
                    f"{path} changes by {change[place]:.6g} times the size of several probes together, and by "
                    f"{expected[place]:.6g} times theirs one at a time"
                )
                raise InvalidArgument(_not_linear(run, replicas, without, what))


def _not_linear(run: Run, replicas: int, without: Returned, what: str) -> str:
    """Returns the text of an error; a step that gives another result for the same probes is named as such."""
    again, _ = _once(run, replicas, np.zeros((run.samples, columns_for(run.samples) + 1)))
    same = all(np.array_equal(one, other) for one, other in zip(without.values, again.values, strict=True))
    if not same:
        return (
            f"The step gives another result each time with {replicas} replicas and the same probes, so no weight can "
            f"be measured: it keeps a state from call to call, or draws random numbers. Begin each call with the same "
            f"state and a fixed seed."
        )
    return (
        f"The step is not linear in the probe rows with {replicas} replicas: {what}. Sums, means and factors keep it "
        f"linear; clipping, normalizing, squares and maxima do not. Give the ledger the part of the step without "
        f"these: where the samples' losses or gradients are added up and reduced."
    )
