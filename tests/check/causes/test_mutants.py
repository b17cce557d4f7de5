"""Mutants of one lawful program, each one line away from it: kinds, or none, but no wrong ones.  Clauses: J-20, J-28"""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from simstrategy.check.causes.running import explain_difference

PROGRAM = """
import numpy as np
import simstrategy as ss
from simstrategy.data import Dataset

draws = np.random.default_rng(3)
X, Y = draws.normal(size=(20, 4)).astype(np.float32), draws.normal(size=20).astype(np.float32)
MEAN, SUM, FIRST = (ss.VariableAggregation[name] for name in ("MEAN", "SUM", "ONLY_FIRST_REPLICA"))


def program(strategy):
    xp, ctx = strategy.xp, ss.get_replica_context
    with strategy.scope():
        w = ss.Variable(np.full(4, 0.5, np.float32), name="w", aggregation=MEAN)
        m = ss.Variable(np.zeros(4, np.float32), name="m", aggregation=MEAN)
        loss = ss.Variable(0.0, name="loss", dtype="float32", aggregation=SUM)
        size = ss.Variable(np.zeros(4, np.float32), name="size", aggregation=MEAN)

    def step(x, y):
        mean = ctx().all_reduce("SUM", xp.sum(x, axis=0)) / 10.0
        centred = x - mean
        error = centred @ w.value() - y
        rows = centred * error[:, None]
        g = xp.sum(rows, axis=0) / 10.0
        g = ctx().all_reduce("SUM", g)
        g = g * xp.minimum(xp.asarray(np.float32(1.0)), 0.3 / xp.sqrt(xp.sum(g * g)))
        m.assign(0.9 * m.value() + g)
        w.assign_sub(0.1 * m.value())
        loss.assign_add(xp.sum(error * error))
        size.assign(ctx().all_reduce("SUM", xp.sum(xp.abs(centred), axis=0)))

    for batch in strategy.experimental_distribute_dataset(Dataset.from_tensor_slices((X, Y)).batch(10)):
        strategy.run(step, args=batch)
    return w.numpy(), loss.numpy(), size.numpy()
"""

_CLIPPED = "g = g * xp.minimum(xp.asarray(np.float32(1.0)), 0.3 / xp.sqrt(xp.sum(g * g)))"

MUTANTS: list[tuple[str | None, str, str]] = [
    ("wrong factor", "xp.sum(rows, axis=0) / 10.0", "xp.sum(rows, axis=0) / (10.0 * strategy.num_replicas_in_sync**2)"),
    (
        "divided by the number of replicas once too often",
        'g = ctx().all_reduce("SUM", g)',
        'g = ctx().all_reduce("MEAN", g)',
    ),
    ("sum of means", "g = xp.sum(rows, axis=0) / 10.0", "g = xp.mean(rows, axis=0)"),
    (
        "clipping before the sum",
        f'g = ctx().all_reduce("SUM", g)\n        {_CLIPPED}',
        f'{_CLIPPED}\n        g = ctx().all_reduce("SUM", g)',
    ),
    ("clipping before the sum", "g = xp.sum(rows, axis=0) / 10.0", "g = xp.clip(xp.sum(rows, axis=0), -0.2, 0.2)"),
    ("statistics per replica", 'ctx().all_reduce("SUM", xp.sum(x, axis=0)) / 10.0', "xp.mean(x, axis=0)"),
    ("statistics per replica", "centred = x - mean", "centred = (x - mean) / xp.std(x, axis=0)"),
    ("mean of means", '"SUM", xp.sum(x, axis=0)) / 10.0', '"MEAN", xp.mean(x, axis=0))'),
    ("sum of means", '"SUM", xp.sum(x, axis=0)) / 10.0', '"SUM", xp.mean(x, axis=0))'),
    ("different draws", "x - mean", "x - mean + np.random.default_rng(1).normal(size=x.shape).astype(np.float32)"),
    (
        "different draws",
        "x - mean",
        "x - mean + np.random.default_rng(ctx().seed('a')).normal(size=x.shape).astype(x.dtype)",
    ),
    ("written by one replica only", 'dtype="float32", aggregation=SUM', 'dtype="float32", aggregation=FIRST'),
    (
        "divided by the number of replicas once too often",
        'dtype="float32", aggregation=SUM',
        'dtype="float32", aggregation=MEAN',
    ),
    ("summed where averaged was meant", 'name="m", aggregation=MEAN', 'name="m", aggregation=SUM'),
    ("function before the sum", "xp.sum(xp.abs(centred), axis=0)", "xp.max(xp.abs(centred), axis=0)"),
    (None, 'g = ctx().all_reduce("SUM", g)', "g = g * 1.0"),
    (None, "centred = x - mean", "centred = (x - mean) * (1.0 + int(ctx().replica_id_in_sync_group))"),
    (None, "centred = x - mean", "centred = x - mean * (1.0 + 0.37 * int(ctx().replica_id_in_sync_group))"),
]


def loaded(text: str, folder: Path) -> Any:
    """Returns the program of a source text, which needs a file for its lines."""
    file = folder / "mutant.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location("mutant", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.program


@pytest.mark.parametrize("number", range(len(MUTANTS)))
def test_a_mutant_has_its_kind_or_none(number: int, tmp_path: Path) -> None:
    kind, old, new = MUTANTS[number]
    assert PROGRAM.count(old) >= 1
    cause = explain_difference(loaded(PROGRAM.replace(old, new, 1), tmp_path), (1, 3))
    assert cause.step == 1, cause.text
    assert kind == cause.kind or kind in cause.also, cause.text


@pytest.mark.parametrize("replicas", [2, 3, 4])
def test_the_program_itself_has_no_cause(replicas: int, tmp_path: Path) -> None:
    assert explain_difference(loaded(PROGRAM, tmp_path), (1, replicas)).step is None
