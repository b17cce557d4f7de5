"""The parts of the steps `gpu` and `tpu`, played on the CPU: what they compare, and that they can fail."""

import importlib.util
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "ci"
FILE = FOLDER / "gpu.py"
sys.path.append(str(FOLDER))  # the scripts' own, where they find each other


def _loaded(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


gpu, tpu = _loaded("gpu"), _loaded("tpu")


@pytest.mark.slow
def test_replicas_in_one_process_and_their_gradients_equal_the_simulator() -> None:
    said = gpu.part(gpu.in_one_process, ["torch", 2, {"device": "cpu"}], 1, gpu.simulated(1, 2))
    assert said == "ran: equal to the simulator to the bit"


@pytest.mark.slow
def test_several_processes_equal_the_simulator() -> None:
    said = gpu.part(gpu.in_several, ["gloo", 2], 2, gpu.simulated(2, 2))
    assert said == "ran: equal to the simulator to the bit"


@pytest.mark.slow
def test_a_difference_and_an_error_are_failures() -> None:
    wrong = gpu.simulated(1, 2)
    wrong[0][0] = [[-1.0]]
    said = gpu.part(gpu.in_one_process, ["torch", 2, {"device": "cpu"}], 1, wrong)
    assert said.startswith("FAILED: process 0 came to")
    said = gpu.part(gpu.in_one_process, ["torch", 0, {"device": "cpu"}], 1, wrong)
    assert said.startswith("FAILED: process 0: InvalidArgument")


@pytest.mark.slow
def test_without_a_gpu_the_step_says_so_and_writes_it_down(tmp_path: Path) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    command = [sys.executable, str(FILE), "--evidence", str(tmp_path / "gpu.txt")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0
    assert "finds no GPU on this machine. No NCCL or GPU path was run." in done.stdout
    assert (tmp_path / "gpu.txt").read_text().startswith("gpu: Python")


@pytest.mark.slow
def test_a_kit_that_cannot_run_is_a_failure_with_its_reason() -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    said = gpu.conforms("on_gpu:torch_replicas", "quick")
    assert said.startswith("FAILED: the kit ended with code 2:\n")
    assert "finds no GPU here" in said


@pytest.mark.slow
def test_what_hangs_is_killed_at_its_limit_with_all_that_it_started() -> None:
    child = "import os, time; print('begun', flush=True); time.sleep(600)"
    script = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    assert gpu.ended([sys.executable, "-c", script], 3.0, folder=FOLDER) == (None, ["begun"])


@pytest.mark.slow
def test_an_interrupted_command_is_killed(tmp_path: Path) -> None:
    """What holds the device must not go on."""
    begun = tmp_path / "begun"
    os.mkfifo(begun)
    child = f"import os, time; print(os.getpid(), file=open({str(begun)!r}, 'w'), flush=True); time.sleep(600)"
    script = (
        f"import sys; sys.path.append({str(FOLDER)!r}); from evidence import ended; "
        f"ended([sys.executable, '-c', {child!r}], 600, folder={str(tmp_path)!r})"
    )
    told = os.open(begun, os.O_RDONLY | os.O_NONBLOCK)
    with subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL) as parent:
        assert select.select([told], [], [], 60.0)[0]
        number = int(os.read(told, 100))
        os.close(told)
        child_ended = os.pidfd_open(number)
        parent.send_signal(signal.SIGINT)
        assert parent.wait(timeout=20) != 0
    assert select.select([child_ended], [], [], 20.0)[0]
    os.close(child_ended)


def test_what_is_said_last_is_output_unless_the_command_failed() -> None:
    script = "import sys; print('output', flush=True); print('late', file=sys.stderr); sys.exit({})"
    for code, told in ((0, ["late", "output"]), (3, ["output", "late"])):
        assert gpu.ended([sys.executable, "-c", script.format(code)], 60.0, folder=FOLDER) == (code, told)


def test_a_part_of_the_step_tpu_tells_how_it_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    def said(script: str) -> Any:
        return tpu.run("part", [sys.executable, "-c", script], SAID="yes")

    assert said("import os; print('=== 3 passed ===', os.environ['SAID']); print('late')") == "part: 3 passed === yes"
    assert said("pass") == "part: ended with 0"
    assert said("print(*range(9), sep=chr(10)); raise SystemExit(2)") == (
        "FAILED: part: exit code 2\n  3\n  4\n  5\n  6\n  7\n  8"
    )
    monkeypatch.setattr(tpu, "LIMIT_S", 0.5)
    assert said("import time; time.sleep(600)") == "FAILED: part: did not end in 0.5 s"


@pytest.mark.deep
def test_a_step_runs_only_the_parts_that_are_named() -> None:
    named = list(gpu.parts())
    assert any("c10d:nccl" in one for one in named)
    done = subprocess.run([sys.executable, str(FILE), "no such part"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert all(one in done.stderr for one in named)
