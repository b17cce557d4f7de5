"""Errors in a notebook: few lines, and cells in place of their files; in a fake shell, and in a real kernel."""

import pytest

import simstrategy as ss
from simstrategy.notebook import traceback_lines
from simstrategy.notebook.cells import _with_cells

DISAGREES = """\
import numpy as np
import simstrategy as ss
strategy = ss.Strategy.mirrored("sim", replicas={replicas})

def step():
    if ss.get_replica_context().replica_id_in_sync_group:
        ss.get_replica_context().all_reduce("SUM", np.float32(1))
"""


def disagrees(replicas):
    strategy = ss.Strategy.mirrored("sim", replicas=replicas)

    def step():
        if ss.get_replica_context().replica_id_in_sync_group:
            ss.get_replica_context().all_reduce("SUM", 1.0)

    with pytest.raises(ss.errors.ReplicasDisagree) as raised:
        strategy.run(step)
    return raised.value


# Clauses: N-2
def test_an_error_has_its_text_and_the_lines_of_the_users_code():
    lines = traceback_lines(disagrees(2))
    assert lines[0].startswith("ReplicasDisagree: Replicas make different collective calls here.")
    assert any("replica 1: all_reduce SUM float32[] at test_errors_in_cells.py:" in line for line in lines)
    assert any(line.endswith("strategy.run(step)") for line in lines)
    assert not any("simstrategy/run" in line for line in lines)
    assert lines[-1].startswith("All frames: ")


# Clauses: N-2
@pytest.mark.parametrize("replicas", [2, 8, 64])
def test_an_error_has_twelve_lines_at_most_and_states_what_it_leaves_out(replicas):
    lines = traceback_lines(disagrees(replicas))
    assert len(lines) <= 12
    assert any("more lines" in line for line in lines) == (replicas > 8)


def test_cells_take_the_place_of_their_files_in_a_text():
    labels = {"/tmp/ipykernel_7/98684.py": 3, "<ipython-input-4-ab>": 4}
    text = "at 98684.py:7, /tmp/ipykernel_7/98684.py:12, <ipython-input-4-ab>:1 and 986840.py:7"
    assert _with_cells(text, labels) == "at cell 3, line 7, cell 3, line 12, cell 4, line 1 and 986840.py:7"


def test_what_ipython_shows_is_made_by_the_error():
    error = disagrees(2)
    assert error._render_traceback_() == traceback_lines(error)


@pytest.mark.slow
# Clauses: N-2
def test_an_error_in_a_real_kernel_names_cell_and_line():
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    cells = [DISAGREES.format(replicas=3), "1 + 1", "x = 1\nstrategy.run(step)", "strategy"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=True).execute()
    (error,) = notebook.cells[2].outputs
    assert error.ename == "ReplicasDisagree"
    text = "\n".join(error.traceback)
    assert len(text.splitlines()) <= 12
    assert "replica 1: all_reduce SUM float32[] at cell 1, line 7" in text
    assert "cell 3, line 2: strategy.run(step)" in text
    (value,) = notebook.cells[3].outputs
    assert "sim:2" in value.data["text/html"]
    assert "<Strategy on 'sim': 3 replicas, 3 here>" in value.data["text/plain"]
