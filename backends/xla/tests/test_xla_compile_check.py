"""`simstrategy compile-check`: what it prints, and that planted faults end it with 1.  Clauses: P-6."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("typer")

from compiled_faults import FAULTS, LIBTPU
from typer.testing import CliRunner

import simstrategy_xla.compile_check.collectives as every_collective
import simstrategy_xla.spmd
from simstrategy.cli.app import app_for

EXAMPLE = Path(__file__).parents[3] / "examples" / "compiled_digits.py"
PLANTED = ("an extra all_reduce", "a wrong group", "a maximum for a sum")
ONE = """
import numpy as np
import simstrategy as ss

def total(x):
    return ss.get_replica_context().all_reduce("SUM", x)

def program(strategy):
    x = ss.PerReplica([np.ones((4, 6), np.float32)] * strategy.num_replicas_in_sync)
    strategy.run(strategy.compile(total), args=(x,))

def nothing(strategy):
    pass
"""


def compile_check(*arguments):
    words = ["compile-check", *map(str, arguments)]
    return CliRunner().invoke(app_for(words), words)


HOST = ("compiled_faults:open_host", "--topology", "host")


@pytest.fixture
def one(tmp_path):
    file = tmp_path / "one.py"
    file.write_text(ONE)
    return file


@pytest.fixture
def variables_alone(monkeypatch):
    """Of the built-in program the writing of variables alone: the rest is compiled for TPUs."""
    monkeypatch.setattr(every_collective, "_DTYPES", ())


@pytest.mark.usefixtures("variables_alone")
def test_steps_that_are_as_requested_end_with_0_and_what_is_in_them(one):
    done = compile_check(*HOST, "--program", one)
    assert done.exit_code == 0, done.output
    assert "--- collectives on host\nwriting (collectives.py:" in done.output
    assert "  collectives: 1 all-reduce SUM float32\n" in done.output
    assert "flops" in done.output
    assert "bytes of arguments" in done.output
    assert done.output.endswith("All compiled steps are as requested on host.\n")


@pytest.mark.usefixtures("variables_alone")
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_ends_with_1(one, monkeypatch, name):
    monkeypatch.setattr(simstrategy_xla.spmd, "total", FAULTS[name][0])
    done = compile_check(*HOST, "--program", one)
    assert done.exit_code == 1, done.output
    assert "total (one.py:5) on host CPUs, 4 ranks: NOT AS REQUESTED" in done.output
    assert done.output.endswith("Not all compiled steps are as requested.\n")


def test_a_program_that_compiles_nothing_ends_with_1(one, variables_alone):
    done = compile_check(*HOST, "--program", f"{one}:nothing")
    assert done.exit_code == 1
    assert "No step was compiled: give strategy.run what strategy.compile(step) returns." in done.output


def test_what_cannot_be_done_ends_with_2_and_says_why(one, tmp_path):
    said = {
        ("sim",): "InvalidArgument: Backend 'sim' does not examine what it compiles. Use backend='tpu'",
        (*HOST, "--program", tmp_path / "missing.py"): "There is no file at",
        (*HOST, "--program", f"{one}:other"): "defines no function other(strategy)",
        (HOST[0], "--topology", "v5e:2x4"): "InvalidArgument: There is no topology 'v5e:2x4' here.",
    }
    for arguments, text in said.items():
        done = compile_check(*arguments)
        assert done.exit_code == 2, (arguments, done.output)
        assert text in " ".join(done.output.split()), done.output


def test_the_kits_command_has_none_of_these_options():
    done = CliRunner().invoke(app_for(["conform"]), ["conform", "sim", "--topology", "v5e:2x4"])
    assert done.exit_code == 2
    assert "No such option: --topology" in done.output


SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
import simstrategy_xla.spmd
from test_xla_compile_check import PLANTED, compile_check
from compiled_faults import FAULTS
import simstrategy_xla.compile_check.collectives as every_collective
own = simstrategy_xla.spmd.total
two_groups = [[0, 1, 2, 3], [4, 5, 6, 7]]
FAULTS["a wrong group"] = (lambda x, op: __import__("jax").lax.psum(x, "ranks", axis_index_groups=two_groups), "")
for name in (None, *PLANTED):
    every_collective._DTYPES = () if name else ("bfloat16",)
    simstrategy_xla.spmd.total = FAULTS[name][0] if name else own
    done = compile_check("tpu", "--topology", "v5e:2x4", *(["--program", sys.argv[2]] if name is None else []))
    print(name, done.exit_code, done.output.splitlines()[-1])
    for line in done.output.splitlines():
        if "no step requested" in line or "should be among" in line:
            print(" ", line.strip())
            break
"""


@pytest.mark.slow
@pytest.mark.skipif(not LIBTPU.is_dir(), reason="libtpu is not installed: ci/run.py installs it")
@pytest.mark.deep
def test_faults_planted_into_programs_for_a_tpu_are_told_without_a_tpu():
    settings = {**os.environ, "TPU_LIBRARY_PATH": str(LIBTPU / "libtpu" / "libtpu.so")}
    command = [sys.executable, "-c", SCRIPT, str(Path(__file__).parent), f"{EXAMPLE}:first_steps"]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    assert lines[0] == "None 0 All compiled steps are as requested on v5e:2x4."
    assert [line.split(" 1 ")[0] for line in lines[1::2]] == list(PLANTED)
    assert lines[2::2] == [
        "  all-reduce SUM of 6 float32 is in the program, and no step requested it",
        "  all-reduce SUM of 6 float32 is among the ranks ((0, 1, 2, 3), (4, 5, 6, 7)), and should be among all 8",
        "  all-reduce MAX of 6 float32 is in the program, and no step requested it",
    ]
