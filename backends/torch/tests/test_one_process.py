"""Programs that use PyTorch's own functions: real processes against workers in one process, draws included."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import simstrategy as ss
from simstrategy.check.processes import run_in_processes
from simstrategy.errors import InvalidArgument, ReplicasDisagree
from simstrategy.sim import Cluster

# Clauses: M-17


def replica() -> Any:
    """The context of the replica that runs."""
    return ss.get_replica_context()


def trains(strategy: ss.Strategy) -> Any:
    """A small training that draws from three global generators, more often on replica 1."""
    torch.manual_seed(3)
    np.random.seed(4)
    random.seed(5)
    with strategy.scope():
        weights = ss.Variable(np.float32([1, 2, 3]), aggregation=ss.VariableAggregation.MEAN, name="weights")

    def step() -> Any:
        context = replica()
        if context.replica_id_in_sync_group == 1:
            torch.rand(3)
        noise = torch.randn(3) + float(np.random.rand()) + random.random()
        own = torch.as_tensor(weights.value()).clone().requires_grad_()
        loss = context.all_reduce("MEAN", torch.nn.functional.softplus(own @ noise))
        loss.backward()
        weights.assign_sub(0.1 * own.grad)
        rows = context.all_gather(torch.full((context.replica_id_in_sync_group + 1,), 2.0), 0)
        return loss.detach(), rows, torch.rand(2)

    steps = [strategy.run(step) for _ in range(3)]
    total = strategy.reduce("SUM", steps[-1][2], axis=None)
    return steps, weights.numpy(), torch.rand(2), np.random.rand(), random.random(), total


def draws_apart(strategy: ss.Strategy) -> Any:
    """Each replica takes a different number of draws, and returns the next ones."""
    torch.manual_seed(7)

    def step() -> Any:
        torch.rand(1 + replica().replica_id_in_sync_group)
        replica().all_reduce("SUM", np.ones(1, np.float32))
        return torch.rand(2)

    return [strategy.run(step) for _ in range(2)]


def listed(steps: Any, index: int | None = None) -> Any:
    """Returns what one worker's program returned as lists; index: of the local replica, where there are several."""
    return [(step if index is None else step.values[index]).tolist() for step in steps]


@pytest.mark.slow
def test_draws_in_processes_are_those_of_workers_in_one_process_on_torch_and_on_the_simulator() -> None:
    processes = run_in_processes(draws_apart, "gloo", 2, ss.Semantics.TF1_15, 60.0)
    drawn = [[leaf.tolist() for _, leaf in one.leaves] for one in processes]
    assert drawn[0] != drawn[1]
    for backend in ("torch", "sim"):
        assert [listed(one) for one in Cluster(2, 1, backend=backend, isolate=True).run(draws_apart)] == drawn, backend
        isolated = draws_apart(ss.Strategy.mirrored(backend, replicas=2, isolate=True))
        assert [listed(isolated, rank) for rank in range(2)] == drawn, backend
        shared = draws_apart(ss.Strategy.mirrored(backend, replicas=2))
        assert [listed(shared, rank) for rank in range(2)] != drawn, backend


@pytest.mark.slow
@pytest.mark.deep
def test_check_compares_processes_with_workers_on_the_first_backend() -> None:
    report = ss.check(trains, backends=["torch", "gloo"], replicas=[1], workers=[2])
    assert report.agrees, str(report)
    found = [(row.backend, row.replicas) for row in report.rows]
    assert found == [("torch", "1"), ("torch", "2 × 1"), ("gloo", "2 × 1")]


@pytest.mark.parametrize("workers", [(1, 1), (2, 1), (2, 2), (3, 1)])
def test_workers_on_torch_give_the_sums_parts_and_totals_of_simulated_ones(workers: tuple[int, int]) -> None:
    def main(strategy: ss.Strategy) -> Any:
        with strategy.scope():
            counter = ss.Variable(np.float32(1), aggregation=ss.VariableAggregation.SUM, name="counter")

        def step() -> Any:
            rank = replica().replica_id_in_sync_group
            xp = replica().xp
            counter.assign_add(xp.asarray(np.float32(rank + 1)), read_value=False)
            row = xp.asarray(np.arange(rank, 3 + rank, dtype=np.float32))
            gathered = replica().all_gather(xp.reshape(row, (1, 3))[: rank % 2 + 1], 0)
            return replica().all_reduce("MEAN", row), gathered

        found = strategy.run(step)
        total = strategy.reduce("SUM", found[0], axis=0)
        local = [strategy.experimental_local_results(one) for one in found]
        return [np.asarray(one).tolist() for row in local for one in row], float(total), float(counter.numpy())

    assert Cluster(*workers, backend="torch").run(main) == Cluster(*workers).run(main)


def test_workers_on_torch_that_disagree_or_fail_are_named() -> None:
    def disagree(strategy: ss.Strategy) -> Any:
        return strategy.run(lambda: replica().all_reduce("SUM", torch.ones(1 + replica().replica_id_in_sync_group)))

    def fail(strategy: ss.Strategy) -> Any:
        if strategy.extended.should_checkpoint:
            raise KeyError("worker 0")
        return disagree(strategy)

    with pytest.raises(ReplicasDisagree, match=r"replica 1: all_reduce SUM float32\[2\] at test_one_process.py"):
        Cluster(2, 1, backend="torch").run(disagree)
    with pytest.raises(KeyError, match="worker 0"):
        Cluster(2, 1, backend="torch").run(fail)


@pytest.mark.parametrize(
    ("name", "settings", "reason"),
    [
        ("gloo", {}, "'gloo' spans processes itself"),
        ("torch", {"order": "tree"}, "order is of the simulator's additions"),
    ],
)
def test_what_a_cluster_in_one_process_cannot_run_on_is_refused(name: str, settings: Any, reason: str) -> None:
    with pytest.raises(InvalidArgument, match=reason):
        Cluster(2, 1, backend=name, **settings)


def test_tensors_of_any_kind_are_compared_by_require_equal() -> None:
    strategy = ss.Strategy.mirrored("torch", replicas=2)

    def step(number: int) -> None:
        model = torch.nn.Linear(2, 1)
        with torch.no_grad():
            model.weight.fill_(1.0)
            model.bias.fill_(float(number * replica().replica_id_in_sync_group))
        replica().require_equal({"model": model.state_dict(), "weight": model.weight}, name="model")

    strategy.run(step, args=(0,))
    named = r"leaf \['model'\]\['bias'\], first at \[0\]\.\n  replica 0: float32\[1\], 0.0"
    with pytest.raises(ReplicasDisagree, match=named):
        strategy.run(step, args=(1,))


def holds_other_buffers(strategy: ss.Strategy) -> Any:
    state = {"mean": torch.zeros(40)}
    strategy.require_equal_after_run("buffers", lambda: state)

    def step() -> None:
        state["mean"][30] += replica().replica_id_in_sync_group

    strategy.run(step)


@pytest.mark.slow
def test_processes_compare_what_they_hold_and_raise_one_error() -> None:
    outcomes = run_in_processes(holds_other_buffers, "gloo", 2, ss.Semantics.TF1_15, 60.0)
    assert outcomes[0].error == outcomes[1].error
    name, text = outcomes[0].error or ("", "")
    assert name == "ReplicasDisagree"
    line = holds_other_buffers.__code__.co_firstlineno + 7
    assert text == (
        f"require_equal 'buffers' found unequal values: leaf ['mean'], first at [30].\n"
        f"  replica 0: float32[40], 0.0 at {Path(__file__).name}:{line}\n"
        f"  replica 1: float32[40], 1.0 at {Path(__file__).name}:{line}\n"
        f"Combine it over the replicas before, such as by all_reduce, or compute it alike in all of them."
    )
