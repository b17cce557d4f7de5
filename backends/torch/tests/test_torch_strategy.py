"""PyTorch's autograd through collectives, beyond the first derivatives that the programs of `tests/` ask for."""

import threading
from typing import Any

import numpy as np
import pytest
import torch
from vocabulary import ctx, mirrored_on, rank

import simstrategy as ss
from simstrategy.errors import ReplicasDisagree
from simstrategy_torch.autodiff import TorchAutodiff

COUNT = 3


@pytest.fixture
def strategy() -> ss.Strategy:
    return mirrored_on("torch", COUNT)


def test_gradients_of_an_all_reduced_nest_leave_integers_alone(strategy: ss.Strategy) -> None:
    def step() -> Any:
        context, number = ctx(), rank()
        x, unused = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor(1.0, dtype=torch.float64)
        unused.requires_grad_()
        summed = context.all_reduce("SUM", {"a": x * x, "n": torch.tensor(number), "u": unused})
        mean = context.all_reduce("MEAN", (summed["a"], torch.tensor([number])))
        assert not summed["n"].requires_grad
        assert not mean[1].requires_grad
        ((number + 1.0) * mean[0].sum()).backward()
        return summed["n"], mean[1], x.grad, unused.grad

    count, integers, gradient, nothing = strategy.run(step)
    assert [one.item() for one in count.values] == [3] * COUNT
    assert [(one.tolist(), one.dtype) for one in integers.values] == [([1.0], torch.float64)] * COUNT
    # d/dx of the sum of all replicas' losses (6 times the mean of 3 x²): MEAN hands 2 back, SUM 6, times 2 x.
    assert [one.tolist() for one in gradient.values] == [[12.0, 24.0]] * COUNT
    assert [one.item() for one in nothing.values] == [0.0] * COUNT


@pytest.mark.parametrize("replicas", [1, COUNT])
def test_second_derivatives_go_through_collectives(replicas: int) -> None:
    def step() -> Any:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        loss = (ctx().all_reduce("SUM", x * x) ** 2).sum()
        (gradient,) = torch.autograd.grad(loss, x, create_graph=True)
        return torch.autograd.grad(gradient.sum(), x)[0]

    second = mirrored_on("torch", replicas).run(step)
    # All losses: n (n x²)² = n³ x⁴; each replica's x is 1/n of the change, twice.
    expected = [12.0 * replicas**2, 48.0 * replicas**2]
    assert all(one.tolist() == expected for one in (second.values if replicas > 1 else (second,)))


def test_second_derivatives_go_through_an_uneven_gather(strategy: ss.Strategy) -> None:
    def step() -> Any:
        own = torch.full((rank() + 1,), 2.0, requires_grad=True)
        (first,) = torch.autograd.grad((ctx().all_gather(own, axis=0) ** 3).sum(), own, create_graph=True)
        return torch.autograd.grad(first.sum(), own)[0]

    # All losses: 3 sum(x³), of which each x appears once: 3 · 6 x, and every replica's second pass adds its own.
    gradients = strategy.run(step).values
    assert [one.tolist() for one in gradients] == [[36.0] * (rank + 1) for rank in range(COUNT)]


def test_functions_that_are_made_differentiable_see_plain_arrays() -> None:
    def seen(arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        assert not any(array.requires_grad for array in arrays)
        with torch.enable_grad():  # as in the thread that resolves a meeting
            return (arrays[0] * 2,)

    x = torch.ones(2, requires_grad=True)
    (result,) = TorchAutodiff().differentiable(seen, seen, (x,))
    result.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2, 2]


def test_gradients_of_variables_are_found_once_they_are_asked_for(strategy: ss.Strategy) -> None:
    with strategy.scope():
        weights = ss.Variable(np.float32([2.0, 3.0]), aggregation=ss.VariableAggregation.MEAN)

    def step() -> Any:
        own = weights.native.requires_grad_()
        loss = (weights.value() ** 2).sum() * (rank() + 1.0)
        (gradient,) = torch.autograd.grad(loss, own)
        weights.assign_sub(gradient)
        return gradient

    assert [one.tolist() for one in strategy.run(step).values] == [[4, 6], [8, 12], [12, 18]]
    assert weights.numpy().tolist() == [2 - 8, 3 - 12]


def test_backward_runs_in_the_lane_that_asked_for_it(strategy: ss.Strategy) -> None:
    def step() -> Any:
        here, seen = threading.get_ident(), []

        def backward(arrays: tuple[Any, ...]) -> tuple[Any, ...]:
            seen.append(threading.get_ident())
            return (ctx().all_reduce("SUM", arrays[0]),)

        x = torch.ones(2, requires_grad=True)
        (result,) = TorchAutodiff().differentiable(lambda arrays: (arrays[0] * 1,), backward, (x,))
        result.sum().backward()
        return seen == [here], x.grad

    here, gradients = strategy.run(step)
    assert here is True
    assert [one.tolist() for one in gradients.values] == [[3, 3]] * COUNT


def test_a_disagreement_in_backward_is_named_and_ends_every_lane(strategy: ss.Strategy) -> None:
    ended: list[int] = []

    def step() -> Any:
        number = rank()
        try:
            x = torch.ones(2, requires_grad=True)
            total = ctx().all_reduce("SUM", x)
            if number != 1:
                total.sum().backward()
        finally:
            ended.append(number)

    with pytest.raises(ReplicasDisagree, match=r"replica 1: returned from"):
        strategy.run(step)
    assert sorted(ended) == [0, 1, 2]


def test_an_error_in_one_replicas_backward_comes_out_unchanged(strategy: ss.Strategy) -> None:
    def step() -> Any:
        x = torch.ones(2, requires_grad=True)
        total = ctx().all_reduce("SUM", x)
        if rank() == 2:
            total.register_hook(lambda _: {}["missing"])
        total.sum().backward()

    with pytest.raises(KeyError, match="missing"):
        strategy.run(step)


def test_the_callers_gradient_mode_holds_in_replicas(strategy: ss.Strategy) -> None:
    def step() -> tuple[bool, bool]:
        own = ctx().all_reduce("SUM", torch.ones(2, requires_grad=True))
        return torch.is_grad_enabled(), own.requires_grad

    with torch.no_grad():
        # Replicas that return one object, such as False, return it as it is.
        assert strategy.run(step) == (False, False)
    assert strategy.run(step) == (True, True)
