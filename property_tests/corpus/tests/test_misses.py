"""What a score has missed is explained, each miss with one sentence.  The page has the scores' table."""

import json
import tomllib
from pathlib import Path

import pytest

from simstrategy_corpus.reading import bugs
from simstrategy_corpus.score import from_data, markdown

HERE = Path(__file__).parents[1]
SCORES = sorted((HERE / "scores").glob("*.json"))
MISSES = tomllib.loads((HERE / "misses.toml").read_text(encoding="utf-8"))


def score_of(file):
    return from_data(json.loads(file.read_text(encoding="utf-8")))


@pytest.mark.parametrize("tool", MISSES)
def test_every_miss_has_a_sentence_and_every_sentence_a_miss(tool):
    name, rows = score_of(HERE / "scores" / f"{tool}.json")
    assert name == tool
    assert {row.name for row in rows if row.wrong} == {bug.name for bug in bugs()}
    assert {row.name for row in rows if row.wrong and not row.wrong.startswith("found")} == set(MISSES[tool])
    assert all(text.endswith(".") and len(text) > 20 for text in MISSES[tool].values())


def test_no_right_program_is_accused_by_a_tool_of_ours():
    accused = [
        row.name for file in SCORES if file.stem in MISSES for row in score_of(file)[1] if row.right == "accused"
    ]
    assert not accused


def test_the_page_and_the_readme_have_the_table_of_the_scores():
    root = HERE.parents[1]
    for file in (root / "docs" / "corpus.md", root / "README.md"):
        assert markdown([score_of(one) for one in SCORES]) in file.read_text(encoding="utf-8"), file.name
