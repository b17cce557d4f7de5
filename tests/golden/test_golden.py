"""Every recorded answer of TensorFlow 1.15.5 and 2.21.0 of the kinds that are built, on the simulator."""

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from simstrategy.golden import BUILT, Outcome, read_cases, read_deviations, replay_all
from simstrategy.strategy import Semantics

HERE = Path(__file__).parent
PROFILES = [Semantics.TF1_15, Semantics.TF2]
PARTS = {**dict.fromkeys(BUILT, 1), "split": 3}
"""In how many tests a kind's cases are replayed."""
BY_NAME = pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)


@cache
def recorded():
    return read_cases(HERE / "strategy.jsonl")


def listed(profile):
    return read_deviations(HERE / "deviations.toml", profile.name)


def of_kind(kind, part=0, parts=1):
    return [case for case in recorded() if case.kind == kind][part::parts]


@BY_NAME
@pytest.mark.parametrize(
    ("kind", "part", "parts"),
    [(kind, part, parts) for kind, parts in PARTS.items() for part in range(parts)],
)
def test_every_recorded_answer_is_ours_or_a_listed_deviation(profile, kind, part, parts):
    cases = of_kind(kind, part, parts)
    tally = replay_all(cases, "sim", profile, listed(profile))
    assert not tally.differences()
    counts = Counter(finding.outcome for finding in tally.findings)
    assert set(counts) <= {Outcome.AGREES, Outcome.DEVIATES}
    assert counts.total() == len(cases) > 0


def test_the_files_are_whole():
    counts = {"split": 330, "reduce": 484, "all_reduce": 140, "run": 146, "variable": 275}
    assert Counter(case.kind for case in recorded()) == {**counts, "input_context": 39, "autoshard": 186}
    assert all(set(case.answers) == {"1.15.5", "2.21.0"} for case in recorded())
    iterators = read_cases(HERE / "iterators.jsonl")
    assert len(iterators) == 250
    assert all(set(case.answers) == {"1.13.2"} for case in iterators)


@BY_NAME
def test_every_listed_deviation_is_of_a_case_that_is_replayed(profile):
    kinds = {case.id: case.kind for case in recorded()}
    assert {kinds[one] for one in listed(profile)} <= set(BUILT)


def test_every_clause_of_the_list_is_in_the_law():
    law = (HERE.parent.parent / "docs" / "semantics.md").read_text(encoding="utf-8")
    clauses = {entry.clause for profile in PROFILES for entry in listed(profile).values()}
    assert {clause for clause in clauses if f"**{clause}**" not in law} == set()


def test_kinds_that_are_not_built_are_counted_as_such_and_never_as_agreement():
    cases = [*of_kind("input_context"), *of_kind("autoshard")]
    tally = replay_all(cases, "sim", Semantics.TF2, {})
    assert {finding.outcome for finding in tally.findings} == {Outcome.NOT_BUILT}
    assert tally.rows()[-1] == ("all", "225", "0", "0", "0", "225")
    assert tally.not_asked() == (
        "186 not replayed: the kind autoshard is not built yet",
        "39 not replayed: the kind input_context is not built yet",
    )


def test_a_wrong_profile_is_seen():
    wrong = replay_all(of_kind("variable"), "sim", Semantics.TF2, listed(Semantics.TF1_15))
    assert not wrong.agrees
    right_rules_wrong_release = Semantics("mixed", "1.15.5", "local", "multiply", "accept")
    tally = replay_all(of_kind("variable"), "sim", right_rules_wrong_release, listed(Semantics.TF1_15))
    texts = tally.differences()
    assert texts
    assert any("You must specify an aggregation method" in text for text in texts)
