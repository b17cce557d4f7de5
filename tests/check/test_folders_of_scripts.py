"""Folders in which runs of a script begin: what is beside the current folder is beside them.

Clauses: G-107, G-113.
"""

from contextlib import chdir
from pathlib import Path

from simstrategy.check.scripts.facts import ScriptRun
from simstrategy.check.scripts.folders import fresh_folder
from simstrategy.check.scripts.own_folders import OwnFolders


def test_a_run_in_a_folder_of_its_own_reads_what_is_beside_the_current_one(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "rows.txt").write_text("1 2 3")
    (tmp_path / "src").mkdir()

    def resumed():
        with folders.one() as folder, chdir(folder or "."):
            begun = Path("kept.txt").exists()
            Path("kept.txt").write_text("step 1")
            return ScriptRun(None, f"{begun} {Path('../data/rows.txt').read_text()}", ())

    notes = []
    folders = OwnFolders(notes, lambda one, other: one.output == other.output)
    with chdir(tmp_path / "src"):
        assert [run.output for run in folders.twice(resumed, resumed)] == ["False 1 2 3"] * 2
        with fresh_folder() as folder, chdir(folder):
            assert Path("../data/rows.txt").read_text() == "1 2 3"
            Path("../made.txt").write_text("")
        with fresh_folder() as folder:
            above = [{entry.name for entry in one.iterdir()} for one in folder.parents[:4]]
            there = [{entry.name for entry in one.iterdir()} for one in (tmp_path / "src").parents[:3]]
    assert above[:3] == there  # the links of all folders further up would take long
    assert len(above[3]) == 1
    assert len(notes) == 1
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["data", "src"]


def test_what_is_beside_the_folder_of_a_run_is_what_is_there_when_it_begins(tmp_path):
    (tmp_path / "src").mkdir()
    for name in ("old", "kept"):
        (tmp_path / name).write_text(name)
    with chdir(tmp_path / "src"):
        with fresh_folder() as first:
            for name in ("made", "kept"):  # a script replaces what it writes
                (first / ".." / name).unlink(missing_ok=True)
                (first / ".." / name).write_text("of the first run")
            (first / ".." / "folder").mkdir()
            with fresh_folder() as beside:
                assert beside != first
                assert not (beside / ".." / "made").exists()
        (tmp_path / "old").unlink()
        (tmp_path / "new").write_text("new")
        with fresh_folder() as second:
            found = {entry.name: entry.read_text() for entry in second.parent.iterdir() if entry.is_file()}
            assert found == {"kept": "kept", "new": "new"}
            assert {entry.name for entry in second.parent.iterdir()} == {"kept", "new", "src"}
            assert list(second.iterdir()) == []
        assert not second.exists()
