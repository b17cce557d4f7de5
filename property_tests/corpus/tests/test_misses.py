"""What a score has missed is explained, each miss with one sentence.  The page has the scores' table."""

import json
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from simstrategy_corpus.reading import bugs
from simstrategy_corpus.score import from_data, markdown

HERE = Path(__file__).parents[1]
ROOT = HERE.parents[1]
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


def test_the_page_has_the_table_of_the_scores():
    assert markdown([score_of(one) for one in SCORES]) in (ROOT / "docs" / "corpus.md").read_text(encoding="utf-8")


def test_the_readme_has_the_scores_of_three_tools():
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    scores = dict(score_of(one) for one in SCORES)
    wrong = {name: Counter(row.wrong for row in rows if row.wrong) for name, rows in scores.items()}
    ours, bugs_count = scores["simstrategy-check"], len(bugs())
    found = {name: counts["found"] + counts["found late"] for name, counts in wrong.items()}
    seconds = sum(row.seconds for row in ours if row.wrong)
    healthy = sum(not row.wrong for row in ours)
    assert f"{bugs_count} wrong programs, each with a right one, and\n{healthy} healthy ones" in page
    assert (
        f"| {found['simstrategy-check']} of {bugs_count}, in {seconds:.0f} seconds on two cores | 0 of {len(ours)} |"
        in page
    )
    assert f"DETAIL`) | {found['gloo-detail']} of {bugs_count} | 0 of {len(scores['gloo-detail'])} |" in page
    assert (
        f"| notices {wrong['rank0-compare']['noticed']} of {bugs_count}, but names no line | 0 of {len(ours)} |" in page
    )
    named = ("simstrategy-check", "gloo-detail", "rank0-compare")
    assert not [row for name in named for row in scores[name] if row.right == "accused"]
