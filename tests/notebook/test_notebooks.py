"""Every notebook of the repository runs in a kernel and shows what its file has."""

import pytest

pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

from ci.notebooks import difference, executed, notebooks


def test_there_are_notebooks():
    assert [one.name for one in notebooks()] == ["notebook.ipynb"]


@pytest.mark.slow
@pytest.mark.parametrize("file", notebooks(), ids=lambda file: file.name)
# Clauses: N-1, N-2
def test_a_notebook_shows_what_its_file_has(file):
    made = executed(file)
    assert list(difference(file, made)) == []
    made.cells[1].outputs = []
    assert list(difference(file, made)) != []
