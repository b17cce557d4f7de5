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
    assert len(notes) == 1
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["data", "src"]
