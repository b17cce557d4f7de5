"""Why a program comes to something else on other replicas: the first step that does, and what explains it.

Told is what was seen: sizes, distances, and whether other weights on what the replicas sent mend it. It runs nothing.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import keras  # type: ignore[import-untyped]
import numpy as np

from simstrategy.check.compare import MARGIN, distances
from simstrategy_tf_distribute.observing import Step

__all__ = ["Causes", "coarsest_ulp", "first_not_finite", "layers_on_their_own", "step_causes"]

Host = np.ndarray[Any, Any]
Units = Sequence[Sequence[float]]
"""For each step of the reference and each value it sums: what one ulp of the variables makes of it."""

Weights = Callable[[int, int, int], float]
"""(a replica's examples, all examples, replicas) -> what to multiply that replica's share by."""

_MENDED: Final[tuple[tuple[Weights, str], ...]] = (
    (
        lambda part, whole, replicas: replicas * part / whole,
        (
            "a mean of means over unequal parts: each replica divides by its own part, and all parts weigh alike. "
            "Weighed by their examples, the replicas' values come to what {first} sent. Divide by the whole batch "
            "(tf.nn.compute_average_loss), or leave the partial batch out (drop_remainder=True)."
        ),
    ),
    (
        lambda part, whole, replicas: part / whole,
        (
            "a sum of means: each replica divides by its own part, and {count} means are added. Weighed by their share "
            "of the examples, they come to what {first} sent. Divide by the whole batch, as "
            "tf.nn.compute_average_loss does."
        ),
    ),
    (
        lambda part, whole, replicas: float(replicas),
        (
            "divided by the number of replicas once too often: {count} times their sum is what {first} sent. Something "
            "else divides already, such as a MEAN over replicas."
        ),
    ),
)


_ULPS: Final = {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-23, "float64": 2.0**-52}


class Causes(NamedTuple):
    """What explains a difference. first: the first step that differs; certain: whether other weights mend it."""

    first: str | None
    certain: bool


def step_causes(
    expected: Sequence[Step], found: Sequence[Step], units: Units, names: Sequence[str], counts: tuple[int, int]
) -> Causes:
    """Finds the first step whose sums differ, and what mends it.

    names: of the values that a step sums, where each is a trainable variable's gradient. counts: of replicas.
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
        text = f"{where} is the first whose sums differ: {subject} by {apart:.1e} (one ulp makes {bounds[worst]:.1e})"
        mended = _mended(totals, other, bounds)
        if mended is not None:
            who = "1 replica" if counts[0] == 1 else f"{counts[0]} replicas"
            return Causes(f"{text}. It is {mended.format(first=who, count=counts[1])}", certain=True)
        return Causes(f"{text}.", certain=False)
    if len(expected) != len(found):
        return Causes(f"{len(expected)} steps became {len(found)}: the batches depend on the replicas.", certain=False)
    return Causes(None, certain=False)


def _parts(one: Step, other: Step) -> str:
    if one.parts is None or other.parts is None:
        return "its arguments have no examples to count"
    words = f"{sum(one.parts)} examples, on {len(other.parts)} replicas {', '.join(map(str, other.parts))}"
    return words if sum(one.parts) == sum(other.parts) else f"{words}: {sum(other.parts)} in all"


def _total(values: Sequence[Host], weights: Sequence[float] | None = None) -> Host:
    if weights is None:
        total = np.array(values[0])
        for value in values[1:]:
            total = total + value
        return total
    wide = sum(value.astype(np.float64) * weight for value, weight in zip(values, weights, strict=True))
    return np.asarray(wide, values[0].dtype)


def _beyond(totals: Sequence[Host], others: Sequence[Host], bounds: Sequence[float]) -> int | None:
    """Returns which value is furthest beyond its bound, or None."""
    ratios = [_ratio(distances(one, other)[0], bound) for one, other, bound in zip(totals, others, bounds, strict=True)]
    worst = int(np.argmax(ratios))
    return worst if ratios[worst] > 1 else None


def _ratio(distance: float, bound: float) -> float:
    if bound:
        return distance / (MARGIN * bound)
    return np.inf if distance else 0.0  # integers are equal or are not


def _mended(totals: Sequence[Host], other: Step, bounds: Sequence[float]) -> str | None:
    if other.parts is None or not sum(other.parts):
        return None
    whole, replicas = sum(other.parts), len(other.parts)
    for weigh, words in _MENDED:
        weights = [weigh(part, whole, replicas) for part in other.parts]
        if all(len(values) == replicas for values in other.reduced):
            weighed = [_total(values, weights) for values in other.reduced]
            if _beyond(totals, weighed, bounds) is None:
                return words
    return None


def layers_on_their_own(models: Sequence[Any]) -> Iterator[str]:
    """Yields, in words, each layer whose result on a replica depends on which examples are there with it."""
    for layer in _flat(models):
        if isinstance(layer, keras.layers.BatchNormalization) and layer.trainable and not layer.synchronized:
            yield (
                f"{layer.name} (BatchNormalization) normalises each replica's part by its own statistics; "
                f"synchronized=True makes it the whole batch's"
            )
        elif not getattr(layer, "layers", ()) and any("seed_generator_state" in one.path for one in layer.variables):
            yield f"{layer.name} ({type(layer).__name__}) draws at random for each replica's part alone"


def coarsest_ulp(models: Sequence[Any]) -> float:
    """Returns one ulp of 1 in the coarsest float that a layer computes in, as mixed precision does; 0 for no model."""
    return max([_ULPS.get(str(layer.compute_dtype), 0.0) for layer in _flat(models)], default=0.0)


def first_not_finite(steps: Sequence[Step]) -> str | None:
    """Returns, in words, the first value that entered a sum and is not finite; None where all are."""
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
