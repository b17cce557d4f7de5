"""Runs of a script that depend on what an earlier run has written to the current folder.

Clauses: G-107.
"""

import os
from pathlib import Path

import numpy as np
import pytest
from fake_scripts import PLACE, Fake, trained

from simstrategy.check.scripts import check_script


def here(settings):
    """Returns the current folder of a run."""
    return Path(settings.folder or Path.cwd())


def resuming(settings):
    """Trains, and begins with another value where an earlier run has left its checkpoint."""
    place = here(settings) / "kept" / "snapshot.bin"
    begun = place.read_bytes() if place.exists() else b""
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(b"step" + begun)
    run = trained(settings)
    (value,) = run.values
    return run._replace(values=(value._replace(copies=tuple(one + np.float32(len(begun)) for one in value.copies)),))


def check(script, counts=(1, 2)):
    fake = Fake(script)
    return check_script(fake, "train.py", replicas=[*counts]), fake


def test_a_script_that_goes_on_from_its_checkpoint_is_judged_in_folders_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    report, fake = check(resuming)
    assert report.verdict == "agree", str(report)
    assert "on what an earlier run has written to the current folder: kept, kept/snapshot.bin. Each run was" in str(
        report
    )
    assert [one.folder is None for one in fake.runs[:4]] == [True, True, False, False]
    assert all(one.folder is not None for one in fake.runs[2:])
    assert not any(os.path.exists(one.folder) for one in fake.runs[2:])


@pytest.mark.deep
def test_a_checkpoint_that_was_there_is_what_all_runs_go_on_from(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kept").mkdir()
    kept = tmp_path / "kept" / "snapshot.bin"
    kept.write_bytes(b"mine")
    (tmp_path / "kept" / "rows.bin").write_bytes(b"rows")
    report, _fake = check(resuming)
    assert report.verdict == "agree", str(report)
    assert "kept/snapshot.bin. Each run was" in str(report)
    assert kept.read_bytes() == b"stepstepmine"  # of the two runs in the current folder, and of no other


@pytest.mark.deep
def test_what_was_there_is_found_in_folders_of_its_own_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "rows.bin").write_bytes(b"rows")

    def reading(settings):
        assert (here(settings) / "data" / "rows.bin").read_bytes() == b"rows"
        return resuming(settings)

    report, _ = check(reading)
    assert report.verdict == "agree", str(report)


@pytest.mark.deep
def test_a_script_that_refuses_the_folder_of_an_earlier_run_is_judged(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def refusing(settings):
        place = here(settings) / "out"
        if place.exists():
            return trained(settings)._replace(error=("FileExistsError", "out"), values=())
        place.mkdir()
        return trained(settings)

    report, _ = check(refusing)
    assert report.verdict == "agree", str(report)
    assert "current folder: out. Each run" in str(report)


@pytest.mark.deep
def test_runs_that_differ_in_folders_of_their_own_too_are_not_repeatable(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    turns = iter(range(100))

    def moving(settings):
        (here(settings) / "log.txt").write_text(str(settings))
        (value,) = (run := trained(settings)).values
        return run._replace(values=(value._replace(copies=tuple(one + next(turns) for one in value.copies)),))

    report, _fake = check(moving, (1,))
    assert report.verdict == "undecided"
    assert "gives different values in two identical runs" in str(report)
    assert PLACE in str(report)
    assert "has written to the current folder" not in str(report)


def test_a_script_that_writes_and_repeats_stays_in_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def logging(settings):
        (here(settings) / "log.txt").write_text("begun")
        return trained(settings)

    report, fake = check(logging)
    assert report.verdict == "agree"
    assert {one.folder for one in fake.runs} == {None}
