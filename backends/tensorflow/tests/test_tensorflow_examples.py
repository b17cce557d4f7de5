"""The lessons on TensorFlow do what they say, and so does docs/examples_of_tensorflow.md, the examples of clauses.

Clauses: D-16, F-1 to F-7.
"""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from block_runs import run_page
from blocks import ROOT

import simstrategy as ss

ss.backend("tensorflow")  # makes the logical CPUs, while that is still possible

EXAMPLES = ROOT / "examples"
PAGE = ROOT / "docs" / "examples_of_tensorflow.md"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:To make it possible to preserve tf.data options")  # MirroredStrategy's own
def test_the_examples_of_clauses_do_what_they_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    run_page(PAGE, tmp_path)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:To make it possible to preserve tf.data options")  # MirroredStrategy's own
def test_the_reference_pages_loop_has_the_bits_of_the_real_thing(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / "reference_loop.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert (printed.count("the same bits"), "DIFFERENT" in printed) == (3, False)


@pytest.mark.slow
@pytest.mark.deep
def test_a_stateless_keras_model_trains_alike_on_any_number_of_replicas_and_on_xla() -> None:
    program = runpy.run_path(str(EXAMPLES / "keras_stateless.py"))["program"]
    losses = {count: program(ss.Strategy.mirrored("tensorflow", replicas=count))[0] for count in (1, 2)}
    # A batch-normalised model sees each replica's part alone: alike, and not equal.
    np.testing.assert_allclose(losses[1], losses[2], rtol=0.2)
    command = [sys.executable, str(EXAMPLES / "keras_stateless.py"), "xla"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "KERAS_BACKEND": "jax"}, timeout=300
    )
    assert done.stdout.startswith("Keras on jax: ")
    np.testing.assert_allclose([float(one) for one in done.stdout.split()[3:]], losses[2], rtol=1e-4)
