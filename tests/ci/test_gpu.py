"""The parts of the step `gpu`, played on the CPU: what they compare, and that they can fail."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).resolve().parents[2] / "ci" / "gpu.py"


def _loaded() -> Any:
    spec = importlib.util.spec_from_file_location("gpu", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


gpu = _loaded()


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
