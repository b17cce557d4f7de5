"""The examples of the clauses on torch.distributed, in docs/examples_of_scripts.md, do what they show.

Clauses: G-1 to G-9, G-20, G-26, G-31, G-40 to G-45, G-47, G-49, G-50, G-52, G-62, G-63, G-66, G-67, G-69 to G-71.
"""

import pytest
from block_runs import PageRun
from blocks import ROOT, blocks_of

PAGE = ROOT / "docs" / "examples_of_scripts.md"


@pytest.mark.slow
@pytest.mark.usefixtures("warm_runs")
def test_the_examples_of_scripts_do_what_they_show(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = PageRun(tmp_path)
    for block in blocks_of(PAGE):
        run.run(block)
