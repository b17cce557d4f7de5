"""`simstrategy check` on Keras programs: the lesson agrees, mistakes are named, and so is what is missing."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from simstrategy.cli.app import app_for
from simstrategy_tf_distribute import runs

LESSON = Path(__file__).parents[3] / "examples" / "keras_digits.py"

# Warnings of Keras and TensorFlow.
quiet = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


def call(*arguments: object) -> tuple[int, str]:
    """Returns the exit code, and what was printed with each run of spaces as one."""
    result = CliRunner().invoke(app_for(["check"]), ["check", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, " ".join((result.stdout + result.stderr).split())


@quiet
@pytest.mark.slow
@pytest.mark.deep
def test_the_lesson_agrees_on_one_and_two_replicas_with_its_partial_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "_NUDGES", (1,))
    code, printed = call(LESSON, "--replicas", "1,2")
    assert (code, "All runs agree: " in printed) == (0, True), printed
    assert "MirroredStrategy 1 InOrder() reference; rounding moves it by" in printed


@quiet
@pytest.mark.deep
def test_keras_mean_over_a_partial_batch_is_named_and_shown_to_be_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "_NUDGES", (1,))
    code, printed = call(LESSON, "--replicas", "1,4", "--function", "usual")
    assert (code, "Not all runs agree." in printed) == (1, True), printed
    assert "in step 3, all_reduce SUM of 'gradient of sequential/hidden/kernel' at keras_digits.py:" in printed
    assert "The kind is mean of means: each replica takes the mean over its own part" in printed
    assert "parts of 6, 6, 6 and 4 examples weigh the same" in printed


@pytest.mark.slow
def test_a_program_that_returns_no_model_and_settings_of_backends_end_with_2(tmp_path: Path) -> None:
    file = tmp_path / "nothing.py"
    file.write_text("import tensorflow as tf\ndef program(strategy: tf.distribute.Strategy): pass\n")
    code, printed = call(file, "--replicas", "1,2")
    assert (code, "nothing was compared: the program returned nothing" in printed) == (2, True), printed
    code, printed = call(file, "--backends", "sim,torch")
    assert (code, "which has no backends to choose: leave that out" in printed) == (2, True), printed
    file.write_text("import tensorflow as tf\n")
    code, printed = call(file)
    assert (code, "defines no function program(strategy). Define it" in printed) == (2, True), printed


COMMAND = "import sys\nfrom simstrategy.cli import main\nsys.argv = ['simstrategy', 'check', *sys.argv[1:]]\nmain()\n"

NO_TENSORFLOW = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "tensorflow":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
"""


@pytest.mark.slow
def test_without_tensorflow_the_command_says_what_to_install() -> None:
    command = [sys.executable, "-c", NO_TENSORFLOW + COMMAND, str(LESSON)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        f"BackendUnavailable: {LESSON} imports tensorflow, which is not installed here. "
        "In a checkout of simstrategy, install it with: pip install ./backends/tensorflow"
    )


@pytest.mark.slow
def test_a_program_that_starts_tensorflow_too_early_is_told_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "early.py"
    file.write_text(
        "import tensorflow as tf\nONE = tf.ones(1)\ndef program(strategy: tf.distribute.Strategy): return ONE\n"
    )
    command = [sys.executable, "-c", COMMAND, str(file), "--replicas", "1,2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 2
    assert "was asked for CPU:0, CPU:1, and TensorFlow has started with 1 devices" in done.stderr
    assert "Logical CPUs are made before TensorFlow's first call only" in done.stderr
