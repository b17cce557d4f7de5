"""The workers that docs/clusters.md starts print what it shows."""

import re
import subprocess
import sys

import pytest
from blocks import ROOT, blocks_of

PAGE = ROOT / "docs" / "clusters.md"


@pytest.mark.slow
def test_workers_that_are_kept_print_what_the_page_shows(tmp_path):
    pytest.importorskip("torch")
    (block,) = (one for one in blocks_of(PAGE) if "with Launcher(" in one.text)
    (tmp_path / "adding.py").write_text(block.text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "adding.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout.splitlines() == re.findall(r"  # (\[[\d., ]+\])", block.text), done.stderr
