"""Right and wrong programs of tf.distribute: wrong ones are found by law and place, and no right one is accused.

Clauses: J-52, J-53, J-54, J-55, J-56.
"""

import re

import pytest
from shares import one_in
from tf_corpus import RIGHT, TABLE, WRONG, program_of

from simstrategy_tf_distribute import replicas_agree, runs

DEEP = [name for name, row in TABLE.items() if row.get("deep", False)]

# Warnings of Keras and TensorFlow.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning"),
]


@pytest.mark.parametrize("name", one_in(9, WRONG, deep=DEEP))
def test_a_wrong_program_is_found_by_its_law_with_its_place(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "_NUDGES", (1,))
    expected = TABLE[name]
    report = replicas_agree(program_of(name), replicas=expected.get("replicas", [1, 2]))
    assert report.verdict == "differ", str(report)
    finding = report.findings[0]
    assert (finding.law, finding.kind) == (expected["law"], expected.get("kind")), str(report)
    assert re.search(expected.get("text", ""), str(report)), str(report)
    assert expected.get("variable", finding.variable) == finding.variable, str(report)


@pytest.mark.parametrize("name", one_in(9, RIGHT, deep=DEEP))
def test_a_right_program_agrees(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name.startswith("features."):  # one measurement of rounding allows less than three
        monkeypatch.setattr(runs, "_NUDGES", (1,))
    report = replicas_agree(program_of(name), replicas=TABLE[name].get("replicas", [1, 2]))
    assert report.agrees, str(report)
    assert "The program used nothing" not in str(report)


def test_there_are_at_least_12_wrong_and_12_right_programs() -> None:
    assert len(WRONG) >= 12
    assert len(RIGHT) >= 12
