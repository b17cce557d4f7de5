"""Compiled programs examined: what was requested is in them, and nothing else.  Clauses: P-6."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from compiled_faults import COUNT, FAULTS, LIBTPU, open_host, program

import simstrategy as ss
import simstrategy_xla.spmd
from simstrategy.errors import BackendUnavailable, Difference, InvalidArgument
from simstrategy_xla.compile_check.checking import check_compiled


@pytest.fixture
def examining():
    """A backend that examines its programs, for the host's own devices in a TPU's place."""
    return open_host()


def test_what_was_asked_for_is_in_the_program_and_nothing_else(examining):
    report = check_compiled(program, backend=examining)
    assert report.agrees, str(report)
    report.raise_for_difference()
    (step,) = report.steps
    assert step.step.startswith("step (compiled_faults.py:")
    assert sorted(one.kind for one in step.facts.collectives) == ["all-gather"] * 2 + ["all-reduce"] * 3
    assert step.facts.flops > 0
    assert step.facts.argument_bytes > 0
    assert "4 ranks: as requested" in str(report)
    assert "3 all-reduce SUM" in str(report)


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

    with pytest.raises(Difference, match="requested other collectives than on the simulator"):
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
def test_without_libtpu_the_line_that_installs_it_is_told(monkeypatch):
    monkeypatch.delenv("TPU_LIBRARY_PATH", raising=False)
    with pytest.raises(BackendUnavailable) as raised:
        ss.backend("tpu", topology="v5e:2x4")
    assert str(raised.value) == (
        "Compiling for a TPU without one needs libtpu, which is not installed. It comes with: pip install "
        "'simstrategy-xla[tpu]'. Where it is installed elsewhere, let TPU_LIBRARY_PATH name its libtpu.so."
    )


def test_a_libtpu_that_is_missing_or_unusable_is_told_with_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv("TPU_LIBRARY_PATH", "nowhere.so")
    with pytest.raises(BackendUnavailable) as raised:
        ss.backend("tpu", topology="v5e:2x4")
    assert str(raised.value) == (
        "TPU_LIBRARY_PATH names 'nowhere.so', where there is no file. Let it name a libtpu.so, or unset it to use the "
        "package libtpu."
    )
    library = tmp_path / "libtpu.so"
    library.write_text("not a library")
    monkeypatch.setenv("TPU_LIBRARY_PATH", str(library))
    with pytest.raises(BackendUnavailable) as raised:
        ss.backend("tpu", topology="v5e:2x4")
    text = str(raised.value)
    assert text.startswith("libtpu cannot be used: ")
    assert text.endswith(". Install the one that belongs to this jaxlib with: pip install 'simstrategy-xla[tpu]'")


def test_without_a_tpu_that_is_told(xla):
    with pytest.raises(BackendUnavailable) as raised:
        ss.backend("tpu")
    text = str(raised.value)
    assert text.startswith("JAX has no devices of platform 'tpu': ")
    assert text.endswith(". Install the jaxlib of that platform, or leave platform out.")


SCRIPT = """
import sys
import simstrategy as ss
from simstrategy_xla.compile_check.checking import check_compiled
from simstrategy_xla.topology import TOPOLOGIES
sys.path.insert(0, sys.argv[1])
from compiled_faults import program
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
    assert lines[6].startswith("The topology 'v5e:2x4' has 8 devices, and 3 replicas were asked for.")
