"""Programs of gradients through collectives: name -> case.

Each is a chain of steps. A framework differentiates the chain by its own means; on the simulator, which has no
autodiff, each step's transpose is applied as the mathematics says, so that values and traces have to agree. It
is no autodiff of its own: a step knows its own transpose and nothing of the others.
"""

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, final

from program_catalogue import Case, eighths, own, register, register_step, replica

import simstrategy as ss
from simstrategy import tree
from simstrategy.strategy import group_of
from simstrategy.trace import Request

__all__ = ["GRADIENTS"]

GRADIENTS: Final[dict[str, Case]] = {}
program = functools.partial(register, GRADIENTS)
replica_function = functools.partial(register_step, GRADIENTS)

Arrays = Sequence[Any]


class Step(Protocol):
    """A function of nests. `gradient` takes the gradient of its result, and its argument, to the argument's."""

    def value(self, argument: Any) -> Any: ...
    def gradient(self, upstream: Any, argument: Any) -> Any: ...


@final
class Reduce:
    """All-reduces; so does its transpose, since each replica's value went into every replica's result."""

    def __init__(self, op: str) -> None:
        self.op = op

    def value(self, argument: Any) -> Any:
        # One line for both directions: the trace names the line of the forward call for the backward one.
        return replica().all_reduce(self.op, argument)

    def gradient(self, upstream: Any, argument: Any) -> Any:
        return self.value(upstream)


@final
class Gather:
    """All-gathers; its transpose sums the gradients over all replicas and takes the replica's own part."""

    def __init__(self, axis: int) -> None:
        self.axis = axis

    def value(self, argument: Any) -> Any:
        return self._call(argument, None)

    def gradient(self, upstream: Any, argument: Any) -> Any:
        return self._call(upstream, argument.shape[self.axis])

    def _call(self, array: Any, size: int | None) -> Any:
        ctx, axis = replica(), self.axis
        return ctx.all_gather(array, axis) if size is None else own_part(ctx.all_reduce("SUM", array), axis, size)


def own_part(total: Any, axis: int, size: int) -> Any:
    """Returns this replica's part of what all gathered; asks for the others' sizes, as the core's gradient does."""
    ctx = replica()
    site = group_of(ctx.strategy).source(sys._getframe(1))
    request = Request("sizes", None, axis, None, None, ())
    sizes = ctx.suspend(request, None, site, group_of(ctx.strategy).reductions.sizes, size)
    start = sum(sizes[: ctx.replica_id_in_sync_group])
    return ctx.xp.take(total, ctx.xp.arange(start, start + size), axis=axis)


@final
class Scale:
    """Multiplies by a number that differs from replica to replica."""

    def value(self, argument: Any) -> Any:
        factor = 0.5 * (replica().replica_id_in_sync_group + 1)
        return tree.map_leaves(lambda array: array * factor, argument)

    def gradient(self, upstream: Any, argument: Any) -> Any:
        return self.value(upstream)


@final
class Square:
    """Squares one array: the one step whose transpose needs its argument."""

    def value(self, argument: Any) -> Any:
        return argument * argument

    def gradient(self, upstream: Any, argument: Any) -> Any:
        return upstream * argument * 2.0


def differentiate(steps: Sequence[Step], argument: Any) -> dict[str, Any]:
    """Returns the chain's value, and the gradient to the argument of the value weighted by eighths."""
    leaves, structure = tree.flatten(argument)

    def forward(*arrays: Any) -> list[Any]:
        value = tree.unflatten(structure, list(arrays))
        for step in steps:
            value = step.value(value)
        return tree.flatten(value)[0]

    def weights(values: Arrays) -> list[Any]:
        ctx = replica()
        dtype = group_of(ctx.strategy).spec(leaves[0])[1]
        host = [eighths(*value.shape, start=3 * ctx.replica_id_in_sync_group + 1, dtype=dtype) for value in values]
        return [ctx.xp.asarray(one) for one in host]

    library = type(leaves[0]).__module__.partition(".")[0]
    adapter = {"tensorflow": by_tensorflow, "torch": by_torch, "jax": by_jax, "jaxlib": by_jax}.get(library)
    if adapter is None:
        return by_hand(steps, argument, weights)
    values, gradients = adapter(forward, leaves, weights)
    return {"value": values, "gradient": gradients}


def by_hand(steps: Sequence[Step], argument: Any, weights: Callable[[Arrays], list[Any]]) -> dict[str, Any]:
    arguments = [argument]
    for step in steps:
        arguments.append(step.value(arguments[-1]))
    values, structure = tree.flatten(arguments[-1])
    gradient = tree.unflatten(structure, weights(values))
    for step, before in zip(reversed(steps), reversed(arguments[:-1]), strict=True):
        gradient = step.gradient(gradient, before)
    return {"value": values, "gradient": tree.flatten(gradient)[0]}


def by_tensorflow(forward: Any, leaves: Arrays, weights: Any) -> tuple[Arrays, Arrays]:
    import tensorflow as tf

    with tf.GradientTape() as tape:
        tape.watch(leaves)
        values = forward(*leaves)
    return values, tape.gradient(values, leaves, output_gradients=weights(values))


def by_torch(forward: Any, leaves: Arrays, weights: Any) -> tuple[Arrays, Arrays]:
    import torch

    watched = [leaf.detach().clone().requires_grad_() for leaf in leaves]
    values = forward(*watched)
    return values, list(torch.autograd.grad(values, watched, weights(values)))


def by_jax(forward: Any, leaves: Arrays, weights: Any) -> tuple[Arrays, Arrays]:
    import jax

    values, transpose = jax.vjp(forward, *leaves)
    return values, list(transpose(weights(values)))


@program()
def gradient_of_a_sum(strategy: ss.Strategy) -> Any:
    return strategy.run(lambda: differentiate([Reduce("SUM")], own(2, 3)))


@program()
def gradient_of_a_mean(strategy: ss.Strategy) -> Any:
    return strategy.run(lambda: differentiate([Scale(), Reduce("MEAN")], own(2, 3)))


@program()
def gradient_of_a_sum_of_scalars(strategy: ss.Strategy) -> Any:
    return strategy.run(lambda: differentiate([Square(), Reduce("SUM"), Scale()], own()))


@program()
def gradient_of_two_sums_in_a_row(strategy: ss.Strategy) -> Any:
    return strategy.run(lambda: differentiate([Reduce("SUM"), Scale(), Reduce("SUM")], own(3)))


@program()
def gradient_of_a_square_between_two_means(strategy: ss.Strategy) -> Any:
    steps: list[Step] = [Scale(), Reduce("SUM"), Square(), Scale(), Reduce("MEAN")]
    return strategy.run(lambda: differentiate(steps, own(3)))


@program()
def gradient_of_a_sum_of_a_nest(strategy: ss.Strategy) -> Any:
    return strategy.run(lambda: differentiate([Reduce("SUM"), Scale()], {"b": [own(2), (own(1, 2),)], "a": own()}))


@program()
def gradient_of_a_mean_of_a_nest_twice(strategy: ss.Strategy) -> Any:
    return strategy.run(lambda: differentiate([Reduce("SUM"), Scale(), Reduce("MEAN")], [own(2), own(3)]))


@program()
def gradient_of_a_gather_of_uneven_parts(strategy: ss.Strategy) -> Any:
    return strategy.run(lambda: differentiate([Gather(0)], own(replica().replica_id_in_sync_group + 1, 2)))


@replica_function()
def gradient_of_a_gather_along_the_last_axis() -> Any:
    return differentiate([Scale(), Gather(1), Square(), Scale()], own(2, 3 - replica().replica_id_in_sync_group % 3))


@program()
def gradient_of_a_gather_with_empty_parts(strategy: ss.Strategy) -> Any:
    return strategy.run(lambda: differentiate([Gather(0), Scale()], own(replica().replica_id_in_sync_group % 2 * 2)))


@replica_function()
def gradient_of_a_sum_of_a_gather() -> Any:
    return differentiate([Gather(0), Scale(), Reduce("SUM")], own(replica().replica_id_in_sync_group + 1))


@program(wide=True)
def gradient_in_float64(strategy: ss.Strategy) -> Any:
    return strategy.run(lambda: differentiate([Square(), Reduce("MEAN"), Scale()], own(3, dtype="float64")))
