"""The files of docs/testing_your_program.md, as a stranger has them: green, and red for each of two faults."""

import re
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from sessions import GUIDE, files_of_the_guide, run_pytest

AVERAGE = """    total = ctx.all_reduce("SUM", sums)
    return total / ctx.all_reduce("SUM", np.float32(rows))
"""
MEAN_OF_MEANS = '    return ctx.all_reduce("MEAN", sums / max(rows, 1))\n'
MISSING = "    return sums / max(rows, 1)\n"
TRAINING = "test_training_does_not_depend_on_replicas"
LOSS = "test_loss_is_the_mean_square_of_all_errors"
WORLD = "test_average_reaches_all_replicas"


@pytest.fixture
def repository(tmp_path):
    """Writes the guide's files, with another body of `average` if one is given."""

    def write(body=AVERAGE):
        for name, text in files_of_the_guide().items():
            if name == "test_ranks.py":
                continue  # the test below runs it
            assert name != "train.py" or text.count(AVERAGE) == 1
            (tmp_path / name).write_text(text.replace(AVERAGE, body))
        return tmp_path

    return write


@pytest.mark.slow
def test_the_guides_tests_pass_on_its_program(repository):
    ended = run_pytest(repository())
    assert (ended.code, len(ended.passed)) == (0, 5), ended.output


@pytest.mark.slow
@pytest.mark.deep
def test_a_mean_of_means_turns_the_check_and_the_drawn_test_red_under_xdist(repository):
    ended = run_pytest(repository(MEAN_OF_MEANS), "-n", "2")
    assert sorted(ended.failures) == [LOSS, TRAINING], ended.output
    report = ended.failures[TRAINING]
    assert report.startswith("train.py breaks the law of replicas (sim, replicas 3 against 1): ")
    assert "check of train.py\nlaw " in report
    assert "DIFFERS" in report
    assert "Repeat this check with: simstrategy check train.py --replicas 1,2,3,8" in report
    assert "Traceback" not in report
    assert "replicas=2" in ended.failures[LOSS]
    assert report.strip().splitlines()[0] in ended.output


@pytest.mark.slow
@pytest.mark.deep
def test_a_missing_reduction_turns_the_test_on_replicas_red(repository):
    ended = run_pytest(repository(MISSING))
    assert sorted(ended.failures) == [f"{WORLD}[2-replicas]", f"{WORLD}[4-replicas]", LOSS, TRAINING], ended.output
    assert "In replica 0: AssertionError raised at test_train.py:" in ended.failures[f"{WORLD}[2-replicas]"]


def test_the_guide_shows_the_fault_that_is_planted_here():
    text = GUIDE.read_text(encoding="utf-8")
    assert MEAN_OF_MEANS.strip() in text
    assert sorted(files_of_the_guide()) == ["test_ranks.py", "test_train.py", "train.py"]
    tested_here, _, programs_of_laws = text.partition("\n## More laws\n")  # tests/check/test_guide.py runs these
    assert len(re.findall(r"^```python$", tested_here, re.MULTILINE)) == 3
    assert "assert_lawful(" not in programs_of_laws


@pytest.mark.slow
@pytest.mark.skipif(find_spec("simstrategy_torch_distributed") is None, reason="no simulated ranks")
def test_the_guides_test_of_ranks_passes(tmp_path):
    (tmp_path / "test_ranks.py").write_text(files_of_the_guide()["test_ranks.py"])
    ended = run_pytest(tmp_path)
    assert (ended.code, len(ended.passed)) == (0, 3), ended.output
