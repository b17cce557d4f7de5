"""The ledger with PyTorch's autograd: a probe in each sample's loss, its gradient read after the reductions (L-5)."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ledger_steps as steps
import numpy as np
import pytest
import torch
from vocabulary import ctx

import simstrategy as ss

Step = Callable[[ss.Strategy, Any, np.ndarray], Any]


def training(loss: Callable[[torch.Tensor, int], torch.Tensor], op: str = "SUM") -> Step:
    """Returns a step that backpropagates a replica's loss, and all-reduces the gradients of weights and probe."""

    def step(strategy: ss.Strategy, batch: Any, probe: np.ndarray) -> Any:
        def replica(x: torch.Tensor, y: torch.Tensor, rows: torch.Tensor) -> Any:
            weights = torch.ones(x.shape[1], dtype=torch.float64, requires_grad=True)
            z = torch.zeros(rows.shape[1], dtype=torch.float64, requires_grad=True)
            losses = (x @ weights - y) ** 2 + rows @ z
            loss(losses, len(probe)).backward()
            return ctx().all_reduce(op, {"weights": weights.grad, "z": z.grad})["z"]

        return steps.distributed(replica)(strategy, batch, probe)

    return step


def reduced_loss(strategy: ss.Strategy, batch: Any, probe: np.ndarray) -> Any:
    """Backpropagates through the all-reduced loss: each replica's gradient is then summed by the collective's own."""

    def replica(x: torch.Tensor, _y: torch.Tensor, rows: torch.Tensor) -> Any:
        z = torch.zeros(rows.shape[1], dtype=torch.float64, requires_grad=True)
        total = ctx().all_reduce("SUM", ((x.sum(1) ** 2 + rows @ z).sum() / len(probe)))
        total.backward()
        return ctx().all_reduce("SUM", z.grad)

    return steps.distributed(replica)(strategy, batch, probe)


def weights(step: Step, replicas: int) -> list[str]:
    found = ss.ledger(step, steps.batch(), replicas=[replicas], backend="torch")
    return [str(one) for one in found.weights(replicas)]


def test_a_right_loss_gives_every_sample_the_weight_one() -> None:
    found = ss.ledger(training(lambda losses, samples: losses.sum() / samples), steps.batch(), backend="torch")
    assert found.right
    assert all(found.weights(count) == (Fraction(1),) * 10 for count in (2, 3, 4))
    assert found.entry(3).parts == ((0,),) * 4 + ((1,),) * 4 + ((2,),) * 2


def test_gradients_averaged_over_parts_of_unequal_size_are_a_mean_of_means() -> None:
    assert weights(training(lambda losses, _: losses.mean(), "MEAN"), 3) == ["5/6"] * 8 + ["5/3"] * 2


def test_an_average_of_losses_that_were_divided_by_the_global_batch_counts_half() -> None:
    assert weights(training(lambda losses, samples: losses.sum() / samples, "MEAN"), 2) == ["1/2"] * 10


def test_a_gradient_through_the_reduced_loss_that_is_reduced_again_counts_the_replicas_twice() -> None:
    assert weights(reduced_loss, 3) == ["3"] * 10


@pytest.mark.parametrize("name", ["mean_of_means", "lost_sample", "masked"])
def test_steps_without_gradients_give_the_weights_of_the_simulator(name: str) -> None:
    step = steps.distributed(getattr(steps, name))
    on_torch, on_sim = (ss.ledger(step, steps.batch(), backend=backend) for backend in ("torch", "sim"))
    assert on_torch.entries == on_sim.entries
