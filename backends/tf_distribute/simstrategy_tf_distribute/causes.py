"""Finds the cause of different results on different numbers of replicas: the first step that differs, and why.

A cause is named from recorded facts only: sizes, distances, and whether other weights on the replicas' values remove
the difference. No program is run here.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import keras  # type: ignore[import-untyped]
import numpy as np

from simstrategy.check.compare import MARGIN
from simstrategy.check.distances import distances
from simstrategy_tf_distribute.observing import Step

__all__ = ["Causes", "coarsest_ulp", "first_not_finite", "layers_on_their_own", "step_causes"]

Host = np.ndarray[Any, Any]
Units = Sequence[Sequence[float]]
"""[steps][values]: by how much one ulp of the variables changes each value that the reference sums."""

Weights = Callable[[int, int, int], float]
"""(examples of a replica, all examples, replicas) -> the factor for that replica's value."""

_CORRECTIONS: Final[tuple[tuple[Weights, str], ...]] = (
    (
        lambda part, whole, replicas: replicas * part / whole,
        (
            "a mean of means over unequal parts: each replica divides by its own part, and all parts weigh the same. "
            "Weighted by their examples, the replicas' values equal the result of {first}. Divide by the whole batch "
            "(tf.nn.compute_average_loss), or leave the partial batch out (drop_remainder=True)."
        ),
    ),
    (
        lambda part, whole, replicas: part / whole,
        (
            "a sum of means: each replica divides by its own part, and {count} means are added. Weighted by their "
            "share of the examples, they equal the result of {first}. Divide by the whole batch, as "
            "tf.nn.compute_average_loss does."
        ),
    ),
    (
        lambda part, whole, replicas: float(replicas),
        (
            "divided by the number of replicas once too often: {count} times their sum equals the result of {first}. "
            "Remove one division: another one is there already, such as a MEAN over replicas."
        ),
    ),
)


_ULPS: Final = {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-23, "float64": 2.0**-52}


class Causes(NamedTuple):
    """The cause of a difference.  first: a text on the first step that differs; certain: whether weights explain it."""

    first: str | None
    certain: bool


def step_causes(
    expected: Sequence[Step], found: Sequence[Step], units: Units, names: Sequence[str], counts: tuple[int, int]
) -> Causes:
    """Finds the first step whose sums differ, and the weights that explain it.

    names: of the values that a step sums, if each is the gradient of a trainable variable. counts: of replicas.
    """
    for number, (one, other, bounds) in enumerate(zip(expected, found, units, strict=False), 1):
        if not one.reduced or not other.reduced:
            continue
        where = f"step {number} ({_parts(one, other)})"
        if [value[0].shape for value in one.reduced] != [value[0].shape for value in other.reduced]:
            return Causes(f"{where} is the first whose sums have other shapes.", certain=False)
        totals = [_total(value) for value in one.reduced]
        worst = _beyond(totals, [_total(value) for value in other.reduced], bounds)
        if worst is None:
            continue
        subject = f"the gradient of {names[worst]}" if len(names) == len(totals) else f"value {worst + 1}"
        here, there = totals[worst], _total(other.reduced[worst])
        apart, _ = distances(here, there)
        rounding = f"one ulp of the inputs changes it by {bounds[worst]:.1e}"
        text = f"{where} is the first whose sums differ: {subject} by {apart:.1e} ({rounding})"
        correction = _correction(totals, other, bounds)
        if correction is not None:
            who = "1 replica" if counts[0] == 1 else f"{counts[0]} replicas"
            return Causes(f"{text}. It is {correction.format(first=who, count=counts[1])}", certain=True)
        return Causes(f"{text}.", certain=False)
    if len(expected) != len(found):
        return Causes(
            f"{len(expected)} step(s) became {len(found)}: the number of batches depends on the number of replicas.",
            certain=False,
        )
    return Causes(None, certain=False)


def _parts(one: Step, other: Step) -> str:
    if one.parts is None or other.parts is None:
        return "its arguments have no examples to count"
    text = f"{sum(one.parts)} examples, on {len(other.parts)} replicas {', '.join(map(str, other.parts))}"
    return text if sum(one.parts) == sum(other.parts) else f"{text}: {sum(other.parts)} in all"


def _total(values: Sequence[Host], weights: Sequence[float] | None = None) -> Host:
    if weights is None:
        total = np.array(values[0])
        for value in values[1:]:
            total = total + value
        return total
    wide = sum(value.astype(np.float64) * weight for value, weight in zip(values, weights, strict=True))
    return np.asarray(wide, values[0].dtype)


def _beyond(totals: Sequence[Host], others: Sequence[Host], bounds: Sequence[float]) -> int | None:
    """Returns the number of the value that exceeds its bound most, or None."""
    ratios = [_ratio(distances(one, other)[0], bound) for one, other, bound in zip(totals, others, bounds, strict=True)]
    worst = int(np.argmax(ratios))
    return worst if ratios[worst] > 1 else None


def _ratio(distance: float, bound: float) -> float:
    if bound:
        return distance / (MARGIN * bound)
    return np.inf if distance else 0.0  # integers are equal or are not


def _correction(totals: Sequence[Host], other: Step, bounds: Sequence[float]) -> str | None:
    if other.parts is None or not sum(other.parts):
        return None
    whole, replicas = sum(other.parts), len(other.parts)
    for weigh, text in _CORRECTIONS:
        weights = [weigh(part, whole, replicas) for part in other.parts]
        if all(len(values) == replicas for values in other.reduced):
            weighed = [_total(values, weights) for values in other.reduced]
            if _beyond(totals, weighed, bounds) is None:
                return text
    return None


def layers_on_their_own(models: Sequence[Any]) -> Iterator[str]:
    """Yields a text for each layer whose result on a replica depends on the other examples of the replica."""
    for layer in _flat(models):
        if isinstance(layer, keras.layers.BatchNormalization) and layer.trainable and not layer.synchronized:
            yield (
                f"{layer.name} (BatchNormalization) normalises each replica's part by its own statistics; use "
                f"synchronized=True for the statistics of the whole batch"
            )
        elif not getattr(layer, "layers", ()) and any("seed_generator_state" in one.path for one in layer.variables):
            yield f"{layer.name} ({type(layer).__name__}) draws random numbers for each replica's part separately"


def coarsest_ulp(models: Sequence[Any]) -> float:
    """Returns one ulp of 1 in the least precise float in which a layer computes; 0 without a model."""
    return max([_ULPS.get(str(layer.compute_dtype), 0.0) for layer in _flat(models)], default=0.0)


def first_not_finite(steps: Sequence[Step]) -> str | None:
    """Returns a text about the first term of a sum that is not finite, or None."""
    for number, step in enumerate(steps, 1):
        for place, values in enumerate(step.reduced, 1):
            for replica, value in enumerate(values):
                wrong = np.argwhere(~np.isfinite(value.astype(np.float64)))
                if len(wrong):
                    first = tuple(int(index) for index in wrong[0])
                    what = f"{value.dtype.name}{list(value.shape)} that entered sum {place}"
                    return f"step {number}, replica {replica}: {what} is {value[first]!s} at {list(first)}"
    return None


def _flat(layers: Sequence[Any]) -> Iterator[Any]:
    for layer in layers:
        yield layer
        yield from _flat(getattr(layer, "layers", ()))
