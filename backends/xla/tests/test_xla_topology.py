"""Compiled programs examined: what was asked for is in them, and nothing else.  Clauses: P-6."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import simstrategy as ss
import simstrategy_xla.collectives
import simstrategy_xla.spmd
from simstrategy.check import check_compiled
from simstrategy.errors import BackendUnavailable, Difference, InvalidArgument
from simstrategy_xla.collectives import RANKS
from simstrategy_xla.topology import Topology

COUNT = 4
LIBTPU = Path(sys.prefix) / "tpu"
"""Where the repository installs libtpu: apart, because JAX looks for TPUs wherever it finds it."""


def program(strategy):
    """Two steps with variables, a mean, a gather, and a reduction in a merge_call."""
    with strategy.scope():
        weights = ss.Variable(np.ones((8, 3), np.float32), aggregation=ss.VariableAggregation.SUM)
        first = ss.Variable(np.ones(3, np.float32), aggregation=ss.VariableAggregation.ONLY_FIRST_REPLICA)

    def step(x):
        context = ss.get_replica_context()
        xp = context.xp
        y = xp.matmul(x, weights.value())
        weights.assign_sub(xp.matmul(xp.permute_dims(x, (1, 0)), y) * 0.001)
        first.assign(xp.sum(y, axis=0))
        losses = context.merge_call(lambda merged, value: merged.reduce("MEAN", value, axis=0), args=(y,))
        return context.all_reduce("MEAN", xp.sum(y)), context.all_gather(y, 0), losses

    run = strategy.compile(step)
    dataset = ss.data.Dataset.from_tensor_slices(np.arange(256, dtype=np.float32).reshape(32, 8) / 999).batch(16)
    for batch in strategy.experimental_distribute_dataset(dataset):
        strategy.run(run, args=(batch,))


@pytest.fixture
def examining():
    """A backend that examines its programs, for the host's own devices in a TPU's place."""
    backend = ss.backend("xla", replicas=COUNT)
    backend.examine_for(Topology("host CPUs", jax.devices()[:COUNT]))
    return backend


def test_what_was_asked_for_is_in_the_program_and_nothing_else(examining):
    report = check_compiled(program, backend=examining)
    assert report.agrees, str(report)
    report.raise_for_difference()
    (step,) = report.steps
    assert step.step.startswith("step (test_xla_topology.py:")
    assert sorted(one.kind for one in step.facts.collectives) == ["all-gather"] * 2 + ["all-reduce"] * 3
    assert step.facts.flops > 0
    assert step.facts.argument_bytes > 0
    assert "4 ranks: as asked" in str(report)
    assert "3 all-reduce SUM" in str(report)


def an_extra_sum(x, op):
    return jax.lax.psum(x, RANKS) + 0 * jax.lax.psum(jnp.sin(x), RANKS)


def a_maximum(x, op):
    return jax.lax.pmax(x, RANKS)


def pairs(x, op):
    return jax.lax.psum(x, RANKS, axis_index_groups=[[0, 1], [2, 3]])


def another_dtype(x, op):
    return jax.lax.psum(x.astype(jnp.int32), RANKS).astype(x.dtype)


def nothing(x, op):
    return x


def by_gathering(x, op):
    return jnp.sum(jax.lax.all_gather(x, RANKS), axis=0)


FAULTS = {
    "an extra all_reduce": (an_extra_sum, "is in the program, and nobody asked for it"),
    "a maximum for a sum": (a_maximum, "all-reduce MAX of 24 float32 is in the program, and nobody asked for it"),
    "a wrong group": (pairs, r"is among the ranks \(\(0, 1\), \(2, 3\)\), and all of 4 are meant"),
    "another dtype": (another_dtype, "of 24 float32 is not in the program"),
    "no collective": (nothing, "all-reduce SUM of 24 float32 is not in the program"),
    "an accidental all_gather": (by_gathering, "all-gather of 96 float32 is in the program, and nobody asked for it"),
}


@pytest.mark.parametrize(("fault", "text"), FAULTS.values(), ids=FAULTS)
def test_a_planted_fault_is_told(examining, monkeypatch, fault, text):
    monkeypatch.setattr(simstrategy_xla.spmd, "total", fault)
    report = check_compiled(program, backend=examining)
    assert not report.agrees
    with pytest.raises(Difference, match=text):
        report.raise_for_difference()


def test_a_step_that_asks_for_something_else_than_on_the_simulator_is_told(examining):
    def two_faced(strategy):
        def step(x):
            context = ss.get_replica_context()
            more = isinstance(x, jax.core.Tracer)
            return context.all_reduce("SUM", context.xp.stack([x, x]) if more else x)

        strategy.run(strategy.compile(step), args=(ss.PerReplica([np.ones(2, np.float32)] * COUNT),))

    with pytest.raises(Difference, match="asked for something else than on the simulator"):
        check_compiled(two_faced, backend=examining).raise_for_difference()


def test_a_program_without_compiled_steps_is_no_agreement(examining):
    report = check_compiled(lambda strategy: None, backend=examining)
    assert not report.agrees
    assert "No step was compiled" in str(report)


def test_a_backend_that_examines_nothing_and_a_program_that_is_none_are_told():
    with pytest.raises(InvalidArgument, match=r"Backend 'sim' does not examine what it compiles\. Use backend='tpu'"):
        check_compiled(program, backend="sim")
    with pytest.raises(InvalidArgument, match=r"check_compiled takes a function program\(strategy\), got 3"):
        check_compiled(3)


@pytest.mark.skipif(importlib.util.find_spec("libtpu") is not None, reason="libtpu is installed here")
def test_without_libtpu_the_line_that_installs_it_is_told():
    with pytest.raises(BackendUnavailable, match=r"pip install 'simstrategy-xla\[tpu\]'"):
        ss.backend("tpu", topology="v5e:2x4")


SCRIPT = """
import sys
import simstrategy as ss
from simstrategy.check import check_compiled
from simstrategy_xla.topology import TOPOLOGIES
sys.path.insert(0, sys.argv[1])
from test_xla_topology import program
for topology in TOPOLOGIES:
    report = check_compiled(program, topology=topology)
    print(topology, report.ranks, report.agrees)
for wrong in ({"topology": "v5e:3x5"}, {"topology": "nonsense"}, {"topology": "v5e:2x4", "replicas": 3}):
    try:
        ss.backend("tpu", **wrong)
    except ss.errors.InvalidArgument as error:
        print(error)
"""


@pytest.mark.skipif(not LIBTPU.is_dir(), reason="libtpu is not installed: ci/run.py installs it")
def test_steps_are_compiled_for_four_tpu_topologies_without_a_tpu():
    settings = {**os.environ, "PYTHONPATH": str(LIBTPU), "JAX_PLATFORMS": "cpu", "TPU_SKIP_MDS_QUERY": "1"}
    command = [sys.executable, "-c", SCRIPT, str(Path(__file__).parent)]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    assert lines[:4] == ["v4:2x2x1 8 True", "v5e:2x4 8 True", "v5p:2x2x2 8 True", "v6e:2x4 8 True"]
    assert lines[4].startswith("There is no TPU topology 'v5e:3x5': ")
    assert lines[5].startswith("There is no TPU topology 'nonsense': ")
    assert lines[6].startswith("The topology 'v5e:2x4' has 8 chips, and 3 replicas were asked for.")
