"""The step of docs/ledger.md with the gradients of a framework weighs as it states; tests/docs runs the others."""

from fractions import Fraction

import pytest
from blocks import ROOT, blocks_of

import simstrategy as ss

GUIDE = ROOT / "docs" / "ledger.md"


@pytest.mark.slow
def test_the_step_of_a_framework_has_the_weights_that_the_guide_states():
    pytest.importorskip("torch")
    blocks = [block.text for block in blocks_of(GUIDE) if block.language == "python"]
    (trained,) = [text for text in blocks if "def trained(" in text]
    names = {}
    exec(compile(blocks[0].partition("\n\n\n")[0], "train.py", "exec"), names)
    exec(compile(trained, "train.py", "exec"), names)
    found = ss.ledger(names["trained"], names["features"], backend="torch", replicas=[3])
    assert found.weights(3) == (Fraction(5, 6),) * 8 + (Fraction(5, 3),) * 2
