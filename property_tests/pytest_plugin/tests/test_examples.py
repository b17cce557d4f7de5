"""The examples of docs/examples_of_waits_and_tests.md do what they show.

Clauses: G-10, G-51, G-60, G-61, G-62, G-64, G-65, G-68, G-80 to G-84.
"""

import pytest

pytest.importorskip("simstrategy_torch_distributed")

from block_runs import SHARES, run_page
from blocks import ROOT

PAGE = ROOT / "docs" / "examples_of_waits_and_tests.md"


@pytest.mark.slow
@pytest.mark.parametrize("share", SHARES)
def test_the_examples_of_waits_and_tests_do_what_they_show(share, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(PAGE, tmp_path, share)
