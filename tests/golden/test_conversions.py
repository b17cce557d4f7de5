"""What TensorFlow 2.21.0 makes of values in five places, on the simulator and on the real backends.

# Clauses: V-7
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from golden_replay import Outcome, read_cases, read_deviations, replay_all
from simstrategy.strategy import Semantics

HERE = Path(__file__).parent
FILE, LISTED = HERE / "conversions.jsonl", HERE / "deviations.toml"
NOT_BUILT = {"sim": 0, "tensorflow": 0, "torch": 45}
"""PyTorch computes with no uint16, uint32 and uint64."""


def need(backend):
    if backend != "sim" and importlib.util.find_spec(f"simstrategy_{backend}") is None:
        pytest.skip(f"simstrategy_{backend} is not installed")


# NumPy warns where a cast is not exact: numbers are compared here.
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore:Casting complex values")
@pytest.mark.parametrize("backend", NOT_BUILT)
def test_every_recorded_conversion_is_ours_or_a_listed_deviation(backend):
    need(backend)
    listed = read_deviations(LISTED, "TF2", backend)
    tally = replay_all(read_cases(FILE), backend, Semantics.TF2, listed)
    assert not tally.differences()
    outcomes = [finding.outcome for finding in tally.findings]
    assert outcomes.count(Outcome.NOT_BUILT) == NOT_BUILT[backend]
    assert outcomes.count(Outcome.AGREES) > 420


def test_every_recorded_conversion_is_that_of_xla_in_its_64_bit_mode():
    need("xla")
    command = [sys.executable, "ci/golden/replay.py", str(FILE), "--backend", "xla", "--semantics", "TF2"]
    settings = {**os.environ, "JAX_ENABLE_X64": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [*command, "--deviations", str(LISTED)],
        cwd=HERE.parents[1],
        env=settings,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No answer differs." in done.stdout


def test_the_cases_are_many_and_of_every_place():
    cases = read_cases(FILE)
    places = [case.body["place"] for case in cases]
    assert len(cases) >= 300
    assert all(places.count(place) >= 15 for place in ("asarray", "variable", "assign", "slices", "all_reduce"))
