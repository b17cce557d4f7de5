"""The examples of the clauses on torch.distributed, in three pages of docs/, do what they show.

They are examples_of_scripts.md, examples_of_checked_scripts.md and examples_of_script_faults.md. Clauses: G-1 to G-9,
G-20 to G-50, G-52, G-63, G-66, G-67, G-69 to G-79, G-85 to G-88.
"""

import pytest
from block_runs import SHARES, run_page
from blocks import ROOT


@pytest.mark.slow
@pytest.mark.usefixtures("warm_runs", "warm_checks")
@pytest.mark.parametrize("name", ["scripts", "checked_scripts", "script_faults"])
@pytest.mark.parametrize("share", SHARES)
def test_the_examples_of_a_page_do_what_they_show(name, share, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(ROOT / "docs" / f"examples_of_{name}.md", tmp_path, share)
