"""Losses of one replica, scaled so that their sum over the replicas is the loss of the global batch.

Written once on the replica's array namespace, so gradients flow on every backend. No layers and no optimizers.
"""

import operator
import sys
from typing import Any, Final

from simstrategy.device import Array
from simstrategy.errors import ContextError, InvalidArgument, InvalidType
from simstrategy.short_repr import short_repr
from simstrategy.strategy import current_group, get_replica_context
from simstrategy.strategy.group import Group
from simstrategy.strategy.reductions.arithmetic import MEAN_DTYPES
from simstrategy.trace import Site, describe_site

__all__ = ["compute_average_loss", "scale_regularization_loss"]

_HALF: Final = ("float16", "bfloat16")


def compute_average_loss(per_example_loss: Any, sample_weight: Any = None, global_batch_size: Any = None) -> Array:
    """Returns the sum of a replica's losses divided by the number of examples of all replicas: a scalar.

    per_example_loss: [batch, …] numbers, or a list of them; a mean of integers is a float, as in `reduce`.
    sample_weight: a number, or an array that broadcasts to the losses, also without or with a last dimension
    of 1. global_batch_size: an int of at least 0; default this replica's batch times the number of
    replicas, which is right where all have equally many. No examples: 0.

    Raises InvalidArgument and InvalidType, and ContextError without a global_batch_size outside replica
    functions. Source: TensorFlow 2.21.0, as measured.  Clauses: X-14.
    """
    site = _site()
    group, index = _group_and_index()
    losses = _numbers(group, index, per_example_loss, "compute_average_loss", site)
    if not group.spec(losses)[0]:
        raise InvalidArgument(
            f"compute_average_loss at {describe_site(site)} takes one loss per example, at least of rank 1, and got a "
            f"scalar. Do not average before: pass the losses of all examples."
        )
    given = group.spec(losses)[1]
    if sample_weight is not None:
        losses = _weighted(group, index, losses, sample_weight, site)
    if global_batch_size is None:
        _require_replica("compute_average_loss", site)
        count = group.spec(losses)[0][0] * group.num_replicas
    else:
        count = _batch_size(group, global_batch_size, site)
    total = group.xp.sum(losses)
    if count == 0:
        return group.xp.zeros_like(group.reductions.divide(total, 1))
    average = group.reductions.divide(total, count)
    return group.xp.astype(average, given) if given in _HALF and sample_weight is not None else average


def scale_regularization_loss(regularization_loss: Any) -> Array:
    """Returns the sum of a loss divided by the number of replicas, since each replica adds it: a scalar.

    Raises ContextError outside replica functions, and InvalidArgument for what has no sum.
    Source: TensorFlow 2.21.0, as measured.  Clauses: X-15.
    """
    site = _site()
    _require_replica("scale_regularization_loss", site)
    group, index = _group_and_index()
    loss = _numbers(group, index, regularization_loss, "scale_regularization_loss", site)
    return group.reductions.divide(group.xp.sum(loss), group.num_replicas)


def _site() -> Site:
    return current_group().source(sys._getframe(2))


def _group_and_index() -> tuple[Group, int]:
    """Returns the current group and the local replica that runs; the first where none does."""
    replica = get_replica_context()
    return current_group(), 0 if replica is None else replica.index


def _require_replica(call: str, site: Site) -> None:
    if get_replica_context() is None:
        raise ContextError(
            f"You are calling `{call}` in cross replica context, while it was expected to be called in replica context "
            f"({describe_site(site)}). Call it in the function that run is given."
        )


def _numbers(group: Group, index: int, value: Any, call: str, site: Site) -> Array:
    if isinstance(value, (list, tuple)) and value and any(isinstance(one, group.array_types) for one in value):
        value = group.xp.stack([group.adopt(one, index) for one in value], axis=0)
    array = group.adopt(value, index)
    if group.spec(array)[1] == "bool":
        raise InvalidArgument(
            f"{call} at {describe_site(site)} got bool, which has no sum. Cast it first: xp.astype(x, 'float32')."
        )
    return array


def _weighted(group: Group, index: int, losses: Array, sample_weight: Any, site: Site) -> Array:
    """Multiplies with weights: integers as the floats of their mean, half floats in float32."""
    xp = group.xp
    weights = group.adopt(sample_weight, index)
    shape, given, _ = group.spec(losses)
    weight_shape = group.spec(weights)[0]
    if len(weight_shape) == len(shape) + 1 and weight_shape[-1] == 1:
        weights = xp.reshape(weights, weight_shape[:-1])
    elif weight_shape and len(weight_shape) == len(shape) - 1:
        weights = xp.reshape(weights, (*weight_shape, 1))
    weight_shape = group.spec(weights)[0]
    padded = (1,) * (len(shape) - len(weight_shape)) + tuple(weight_shape)
    if len(padded) > len(shape) or any(one not in (1, size) for one, size in zip(padded, shape, strict=True)):
        raise InvalidArgument(
            f"compute_average_loss at {describe_site(site)} got sample_weight of shape "
            f"{list(group.spec(group.adopt(sample_weight, index))[0])} for losses of shape {list(shape)}. Give one "
            f"weight per example."
        )
    wide = MEAN_DTYPES.get(given, "float32" if given in _HALF else given)
    if given != wide:
        losses = xp.astype(losses, wide)
    return xp.multiply(losses, weights if group.spec(weights)[1] == wide else xp.astype(weights, wide))


def _batch_size(group: Group, given: Any, site: Site) -> int:
    if isinstance(given, group.array_types):
        shape, dtype, _ = group.spec(given)
        if shape:
            raise InvalidArgument(
                f"global_batch_size must be scalar: compute_average_loss at {describe_site(site)} got {dtype}"
                f"{list(shape)}. Pass one int."
            )
        given = group.backend.get(given)[()]
    try:
        count = None if isinstance(given, bool) else operator.index(given)
    except TypeError:
        count = None
    if count is None:
        raise InvalidType(
            f"global_batch_size must be an integer: compute_average_loss at {describe_site(site)} got "
            f"{short_repr(given)}. "
            f"Pass one int."
        )
    if count < 0:
        raise InvalidArgument(
            f"global_batch_size must be non-negative: compute_average_loss at {describe_site(site)} got {count}. "
            f"Pass the number of examples."
        )
    return count
