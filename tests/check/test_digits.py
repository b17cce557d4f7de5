"""The main job on every backend at hand, and what its check must not let pass."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from shares import DEEP

import simstrategy as ss
from simstrategy.check.compare import MARGIN
from simstrategy.check.programs import load_program
from simstrategy.sim.namespace import SimNamespace
from simstrategy.strategy import group_of

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "train_digits.py"
REAL = [
    pytest.param(
        name, marks=[*marks, pytest.mark.skipif(importlib.util.find_spec(module) is None, reason=f"no {module}")]
    )
    for name, module, marks in (
        ("tensorflow", "simstrategy_tensorflow", [DEEP]),
        ("torch", "simstrategy_torch", []),
        ("xla", "simstrategy_xla", [DEEP]),
    )
]

program = load_program(DIGITS)


def losses(strategy):
    return {name: group_of(strategy).backend.get(value) for name, value in program(strategy).items()}


@pytest.mark.slow
@pytest.mark.parametrize("backend", REAL)
def test_the_arithmetic_of_the_demo_is_done_by_the_backend_not_by_numpy(backend, monkeypatch):
    expected = losses(ss.Strategy.mirrored("sim", replicas=2))

    def refuse(*_, **__):
        raise RuntimeError("NumPy was asked to multiply")

    monkeypatch.setattr(np, "matmul", refuse)
    monkeypatch.setattr(np, "dot", refuse)
    monkeypatch.setattr(SimNamespace, "matmul", refuse)
    with pytest.raises(RuntimeError, match="NumPy was asked to multiply"):
        losses(ss.Strategy.mirrored("sim", replicas=2))
    found = losses(ss.Strategy.mirrored(backend, replicas=2))
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("backend", REAL)
def test_trained_models_agree_within_the_bound(backend):
    report = ss.check(program, backends=["sim", backend], replicas=[2])
    assert report.agrees, str(report)
    real = report.rows[-1]
    assert real.distance <= 10 * real.one_ulp


@pytest.mark.slow
@pytest.mark.parametrize("replicas", [1, 2, 4])
def test_a_gradient_scaled_by_one_part_in_100_000_on_one_replica_is_a_difference(replicas):
    module_program = load_program(DIGITS)
    module = module_program.__globals__

    def scaled(step):
        def one_is_off(variables, images, labels):
            context = ss.get_replica_context()
            factor = np.float32(1 + 1e-5) if context.replica_id_in_sync_group == replicas - 1 else np.float32(1)
            return step([Scaled(variable, factor) for variable in variables], images, labels)

        return one_is_off

    def off(strategy):
        steps = module["softmax_step"], module["mlp_step"]
        module["softmax_step"], module["mlp_step"] = map(scaled, steps)
        try:
            return module_program(strategy)
        finally:
            module["softmax_step"], module["mlp_step"] = steps

    problem = differs(off, replicas)
    assert problem is not None
    assert "apart, relative to its size (rounding of the inputs moves it by " in problem


class Scaled:
    """A variable whose subtrahends are scaled."""

    def __init__(self, variable, factor):
        self.variable = variable
        self.factor = factor

    def value(self):
        return self.variable.value()

    def assign_sub(self, delta):
        self.variable.assign_sub(delta * self.factor)


def differs(other, replicas):
    """Returns what a check says of a program that should be the digits program, or None."""
    from simstrategy.check.check import run_here
    from simstrategy.check.compare import compare, sensitivity

    reference = run_here(program, "sim", ss.schedules.InOrder, replicas=replicas)
    nudged = [run_here(program, "sim", ss.schedules.InOrder, replicas=replicas, nudge=n) for n in (1, 2, 3)]
    found = run_here(other, "sim", ss.schedules.InOrder, replicas=replicas)
    return compare(reference, found, sensitivity(reference, nudged)).problem


@pytest.mark.slow
def test_the_mean_of_per_replica_means_is_off_by_at_least_100_times_the_bound():
    from simstrategy.check.check import run_here
    from simstrategy.check.compare import sensitivity
    from simstrategy.check.distances import distances

    def naive(strategy):
        module = load_program(DIGITS).__globals__
        images, labels = module["images_and_labels"]()
        dataset = ss.data.Dataset.from_tensor_slices((images, labels)).batch(module["BATCH_SIZE"])
        with strategy.scope():
            variables = module["softmax_model"](np.random.default_rng(1))

        def step(images, labels):
            per_example = module["softmax_step"](variables, images, labels)
            return per_example if not naive.wrong else ss.get_replica_context().xp.mean(per_example)

        found = []
        for batch in strategy.experimental_distribute_dataset(dataset):
            result = strategy.run(step, args=batch)
            found.append(strategy.reduce("MEAN", result, axis=None if naive.wrong else 0))
        return strategy.xp.stack(found)

    naive.wrong = False
    right = run_here(naive, "sim", ss.schedules.InOrder, replicas=2)
    units = sensitivity(right, [run_here(naive, "sim", ss.schedules.InOrder, replicas=2, nudge=n) for n in (1, 2, 3)])
    naive.wrong = True
    wrong = run_here(naive, "sim", ss.schedules.InOrder, replicas=2)
    (_, one), (_, other) = right.leaves[0], wrong.leaves[0]
    for distance, unit in zip(distances(one, other), units[0][:2], strict=True):
        assert distance >= 100 * MARGIN * unit
