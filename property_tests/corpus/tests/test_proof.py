"""The proofs by plain runs: of some pairs here, of all by `python3 ci/run.py deep corpus`."""

import dataclasses

import pytest
from shares import one_in
from small_corpus import small_bug

from simstrategy_corpus.gloo_ranks import SECONDS_IDLE, run_ranks
from simstrategy_corpus.proof import NotProven, prove, prove_healthy
from simstrategy_corpus.reading import bugs, healthy

BUGS = {one.name: one for one in bugs()}
HEALTHY = {one.name: one for one in healthy()}
ONE_OF_EACH = ("pytorch_74944", "pytorch_xla_8396", "fastmri_123", "areal_632", "horovod_367")


def scripted(tmp_path, wrong, right, **fields):
    """Returns a bug of two programs that print, one process each."""
    bug = small_bug(tmp_path, place=["total = 4.0"], **fields)
    bug.wrong.file.write_text(wrong)
    bug.right.file.write_text(right)
    return bug


DEPENDS = "import sys\nprint('result total', float(sys.argv[2]))\n"
FIXED = "print('result total', 1.0)\n"


@pytest.mark.slow
def test_runs_that_differ_are_shown(tmp_path):
    assert prove(scripted(tmp_path, DEPENDS, FIXED)) == "runs differ by 0.5"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "right", "message"),
    [
        (FIXED, FIXED, "no run shows it"),
        (DEPENDS, DEPENDS, "its runs differ by 0.5"),
        (DEPENDS, "print('nothing')", "prints no line"),
        (DEPENDS, FIXED + "raise SystemExit(3)", "exit code 3"),
        (DEPENDS + "raise SystemExit(3)", FIXED, "exit code 3"),
    ],
)
def test_a_pair_that_is_not_as_described_is_not_proven(tmp_path, wrong, right, message):
    with pytest.raises(NotProven, match=message):
        prove(scripted(tmp_path, wrong, right))


@pytest.mark.slow
def test_a_program_that_should_stop_and_ends_is_not_proven(tmp_path):
    with pytest.raises(NotProven, match="ends well, and should stop"):
        prove(scripted(tmp_path, FIXED, FIXED, shows="stops"))
    (tmp_path / "again").mkdir()
    assert prove(scripted(tmp_path / "again", "raise SystemExit(4)", FIXED, shows="stops")) == "ends with exit code 4"


@pytest.mark.slow
@pytest.mark.parametrize("name", one_in(2, ONE_OF_EACH, deep=["horovod_367"]))
def test_a_pair_of_each_way_to_show_is_proven(name):
    bug = BUGS[name]
    assert prove(bug)
    if bug.shows != "stops":
        with pytest.raises(NotProven):
            prove(dataclasses.replace(bug, wrong=bug.right, right=bug.wrong))


@pytest.mark.slow
def test_a_healthy_program_is_proven():
    assert prove_healthy(HEALTHY["group_of_some_ranks"].case)


@pytest.mark.slow
def test_ranks_have_torchruns_environment_and_a_failure_ends_them(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import os, signal, sys\n"
        "print(os.environ['RANK'], os.environ['WORLD_SIZE'], sys.argv[1:], __name__, flush=True)\n"
        "if os.environ['RANK'] == '1':\n"
        "    sys.exit(7)\n"
        "signal.pause()\n"
    )
    ran = run_ranks(script, 2, ["--rows", "3"], 60)
    assert ran.code == 7
    assert "1 2 ['--rows', '3'] __main__" in ran.text


@pytest.mark.slow
def test_ranks_that_wait_for_good_are_ended(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import signal\nprint('there', flush=True)\nsignal.pause()\n")
    ran = run_ranks(script, 2, [], 120)
    assert ran.code is None
    assert ran.text.count("there") == 2
    assert SECONDS_IDLE <= ran.seconds < 120


@pytest.mark.slow
def test_the_level_of_torchs_checks_is_that_of_the_settings(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import torch.distributed as dist\nprint(dist.get_debug_level().name)\n")
    assert run_ranks(script, 1, [], 60, {"TORCH_DISTRIBUTED_DEBUG": "DETAIL"}).text.strip() == "DETAIL"
    assert run_ranks(script, 1, [], 60).text.strip() == "OFF"
