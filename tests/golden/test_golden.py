"""Every recorded answer of TensorFlow 1.13.2, 1.15.5 and 2.21.0, on the simulator.

# Clauses: D-3, D-5, D-6, D-7, D-12, D-13, D-14
"""

import importlib.util
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from shares import one_in

from golden_replay import BUILT, Outcome, read_cases, read_deviations, replay_all
from simstrategy.strategy import Semantics

HERE = Path(__file__).parent
PROFILES = [Semantics.TF1_15, Semantics.TF2]
ITERATORS = ("make_dataset_iterator", "make_input_fn_iterator")
PARTS = {**{kind: 1 for kind in BUILT if kind not in (*ITERATORS, "convert")}, "split": 3, "autoshard": 6}
"""In how many tests a kind's cases are replayed."""
BY_NAME = pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)


@cache
def recorded(file="strategy.jsonl"):
    return read_cases(HERE / file)


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
    agree_or_deviate(cases, profile, sum(profile.release in case.answers for case in cases))


@pytest.mark.parametrize("kind", ITERATORS)
def test_every_recorded_answer_of_1_13_is_ours_or_a_listed_deviation(kind):
    cases = [case for case in recorded("iterators.jsonl") if case.kind == kind]
    agree_or_deviate(cases, Semantics.TF1_13, len(cases))


# NumPy warns where TensorFlow overflows in silence: numbers are compared here.
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("profile", [Semantics.TF1_13, *PROFILES], ids=lambda profile: profile.name)
def test_probes_of_rounding_order_and_extremes_agree_to_the_bit(profile):
    cases = recorded("probes.jsonl")
    tally = replay_all(cases, "sim", profile, {})
    assert not tally.differences()
    assert {finding.outcome for finding in tally.findings} == {Outcome.AGREES}
    assert len(tally.findings) == {"TF1_13": 64, "TF1_15": 167, "TF2": 200}[profile.name]


@pytest.mark.parametrize("backend", one_in(2, ["torch", "tensorflow", "xla"], deep=["xla"]))
def test_sums_of_float16_are_recorded_ones_or_listed_on_real_backends(backend):
    if importlib.util.find_spec(f"simstrategy_{backend}") is None:
        pytest.skip(f"simstrategy_{backend} is not installed")
    cases = [case for case in recorded("probes.jsonl") if case.kind == "reduce" and "float16" in str(case.body)]
    tally = replay_all(cases, backend, Semantics.TF2, read_deviations(HERE / "deviations.toml", "TF2", backend))
    assert not tally.differences()
    outcomes = Counter(finding.outcome for finding in tally.findings)
    deviate = {Outcome.DEVIATES: 5} if backend in ("torch", "xla") else {}
    assert outcomes == {Outcome.AGREES: 24 - sum(deviate.values()), **deviate}


def agree_or_deviate(cases, profile, asked):
    tally = replay_all(cases, "sim", profile, listed(profile))
    assert not tally.differences()
    counts = Counter(finding.outcome for finding in tally.findings)
    assert set(counts) <= {Outcome.AGREES, Outcome.DEVIATES}
    assert counts.total() == asked > 0


def test_the_files_are_whole():
    counts = {"split": 330, "reduce": 484, "all_reduce": 140, "run": 146, "variable": 275}
    assert Counter(case.kind for case in recorded()) == {**counts, "input_context": 39, "autoshard": 186}
    assert all({*case.answers} >= {"2.21.0"} for case in recorded())
    # 1.15.5 has no policies but AUTO and OFF.
    unasked = [case for case in recorded() if {*case.answers} == {"2.21.0"}]
    assert len(unasked) == 63
    assert {case.body["policy"] for case in unasked} == {"FILE", "DATA"}
    iterators = recorded("iterators.jsonl")
    assert len(iterators) == 250
    assert all(set(case.answers) == {"1.13.2"} for case in iterators)


@pytest.mark.parametrize(
    ("profile", "file"),
    [(Semantics.TF1_13, "iterators.jsonl"), (Semantics.TF1_15, "strategy.jsonl"), (Semantics.TF2, "strategy.jsonl")],
    ids=lambda one: getattr(one, "name", None),
)
def test_every_listed_deviation_is_of_a_recorded_case(profile, file):
    cases = (*recorded(file), *recorded("conversions.jsonl"))
    assert {*listed(profile)} <= {case.id for case in cases if profile.release in case.answers}


def test_every_clause_of_the_list_is_in_the_law():
    law = (HERE.parent.parent / "docs" / "semantics.md").read_text(encoding="utf-8")
    clauses = {entry.clause for profile in [Semantics.TF1_13, *PROFILES] for entry in listed(profile).values()}
    assert {clause for clause in clauses if f"**{clause}**" not in law} == set()


def test_several_workers_of_another_backend_are_counted_as_not_asked_and_never_as_agreement(tmp_path, monkeypatch):
    (tmp_path / "renamed_sim.py").write_text(
        "from simstrategy.device.wrapper import Wrapper\n"
        "from simstrategy.sim import open_sim\n"
        "def renamed(*, replicas):\n"
        "    backend = Wrapper(open_sim(replicas=replicas))\n"
        "    backend.name = 'other'\n"
        "    return backend\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    cases = of_kind("autoshard")[:40]
    tally = replay_all(cases, "renamed_sim:renamed", Semantics.TF2, {})
    outcomes = {(finding.case.body["workers"] > 1, finding.outcome) for finding in tally.findings}
    assert outcomes == {(True, Outcome.NOT_BUILT), (False, Outcome.AGREES)}
    (reason,) = tally.not_asked()
    assert reason.endswith("not replayed: several workers of backend 'other' are several processes: ask sim")


def test_a_wrong_profile_is_seen():
    wrong = replay_all(of_kind("variable"), "sim", Semantics.TF2, listed(Semantics.TF1_15))
    assert not wrong.agrees
    right_rules_wrong_release = replace(Semantics.TF1_15, name="mixed", unaggregated_replica_write="local")
    tally = replay_all(of_kind("variable"), "sim", right_rules_wrong_release, listed(Semantics.TF1_15))
    texts = tally.differences()
    assert texts
    assert any("You must specify an aggregation method" in text for text in texts)


@pytest.mark.parametrize(
    ("kind", "changed"),
    [
        ("autoshard", {"dataset_split": "per batch"}),
        ("autoshard", {"too_few_files": "by element"}),
        ("make_dataset_iterator", {"dataset_iterator": "split"}),
    ],
    ids=str,
)
def test_each_difference_on_datasets_is_seen_in_the_answers(kind, changed):
    file, profile = ("iterators.jsonl", Semantics.TF1_13) if "iterator" in kind else ("strategy.jsonl", Semantics.TF2)
    cases = [case for case in recorded(file) if case.kind == kind][:40]
    assert replay_all(cases, "sim", profile, listed(profile)).agrees
    assert not replay_all(cases, "sim", replace(profile, **changed), listed(profile)).agrees
