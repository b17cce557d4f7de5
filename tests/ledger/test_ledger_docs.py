"""The code blocks of docs/ledger.md run in order, and print what stands in the blocks of text after them."""

import contextlib
import io
import re
from fractions import Fraction
from pathlib import Path

import pytest

import simstrategy as ss

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "ledger.md"


@pytest.fixture(scope="module")
def blocks():
    """The guide's code blocks with the text that follows each, and the names that they define."""
    text = GUIDE.read_text(encoding="utf-8")
    found, names = [], {"__name__": "train"}
    for code, shown in re.findall(
        r"^```python\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", text, re.MULTILINE | re.DOTALL
    ):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "train.py", "exec"), names)
        found.append((printed.getvalue(), shown))
    return found, names


def test_every_block_prints_what_the_guide_shows(blocks):
    found, _ = blocks
    assert len(found) == 5
    assert [printed for printed, _ in found] == [shown for _, shown in found]
    assert sum(bool(shown) for _, shown in found) == 2


@pytest.mark.slow
def test_the_step_of_a_framework_has_the_weights_that_the_guide_states(blocks):
    pytest.importorskip("torch")
    _, names = blocks
    found = ss.ledger(names["trained"], names["features"], backend="torch", replicas=[3])
    assert found.weights(3) == (Fraction(5, 6),) * 8 + (Fraction(5, 3),) * 2
