"""The examples of the clauses on JAX, in docs/examples_of_meshes.md, do what they show.

Clauses: P-6, P-7, J-37, J-57 to J-74, J-82, J-83.
"""

import pytest
from block_runs import SHARES, run_page
from blocks import ROOT

PAGE = ROOT / "docs" / "examples_of_meshes.md"


@pytest.mark.slow
@pytest.mark.usefixtures("xla")  # it makes the devices of this process
@pytest.mark.parametrize("share", SHARES)
def test_the_examples_of_meshes_do_what_they_show(share, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(PAGE, tmp_path, share)
