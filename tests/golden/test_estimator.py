"""Every recorded call of `tf.estimator` on the simulator, and some of them on the other backends.

All of them on every backend: ci/run.py deep estimator

# Clauses: Y-1, Y-2, Y-3, Y-4, Y-5, Y-6, Y-7, Y-8, Y-9
"""

import copy
import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from golden_tools import TOOLS, tools_named

from simstrategy.strategy import Semantics

NAMES = ("estimator_rows", "estimator_models", "estimator_verdict", "estimator_replay", "estimator_cases")
PROFILES = pytest.mark.parametrize("profile", [Semantics.TF1_13, Semantics.TF1_15], ids=lambda one: one.name)
EVERY = {"tensorflow": 19, "torch": 9, "xla": 38}
"""Of so many cases one is replayed."""


@pytest.fixture(scope="module")
def tools():
    """The replay, imported as the folder's scripts are, and then out of the way of others."""
    return tools_named(NAMES)


def findings(tools, profile, backend="sim", every=1):
    return list(tools.estimator_replay.replay(tools.estimator_replay.recorded()[::every], backend, profile))


@pytest.mark.slow
@PROFILES
def test_every_recorded_call_agrees_within_rounding_or_deviates_as_listed(tools, profile):
    found = findings(tools, profile)
    assert [one for one in found if one.text] == []
    assert {one.call for one in found if one.deviates} == {*tools.estimator_replay.listed(profile)}


@pytest.mark.slow
@pytest.mark.parametrize("backend", EVERY)
def test_a_share_of_the_recorded_calls_agrees_on_the_other_backends(tools, backend, monkeypatch):
    pytest.importorskip(f"simstrategy_{backend}")
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
    found = findings(tools, Semantics.TF1_15, backend, EVERY[backend])
    assert [one for one in found if one.text] == []
    assert any(not one.deviates for one in found)


def test_what_is_recorded_is_what_is_listed_today(tools):
    text = (tools.estimator_replay.RECORDED / "estimator.jsonl").read_text(encoding="utf-8")
    recorded = [json.loads(line) for line in text.splitlines()]
    cases = tools.estimator_cases
    assert cases.draw() == [line["case"] for line in recorded]
    assert [{*cases.releases_of(line["case"])} for line in recorded] == [{*line["answers"]} for line in recorded]
    assert Counter(one for line in recorded for one in line["answers"]) == {"1.15.5": 77, "1.13.2": 29}
    assert {line["case"]["train"] for line in recorded} == {0, 1, 2, 3}


@PROFILES
def test_every_deviation_is_of_a_recorded_call_and_names_a_clause(tools, profile):
    law = (TOOLS.parents[1] / "docs" / "semantics.md").read_text(encoding="utf-8")
    for call, deviation in tools.estimator_replay.listed(profile).items():
        name, _, number = call.rpartition("/")
        (line,) = [line for line in tools.estimator_replay.recorded() if line["case"]["id"] == name]
        assert int(number) < len(line["answers"][profile.release]["calls"])
        assert f"**{deviation.clause}**" in law


def one_line(tools, name):
    (line,) = [line for line in tools.estimator_replay.recorded() if line["case"]["id"] == name]
    return copy.deepcopy(line)


@pytest.mark.parametrize(
    ("name", "call", "changed"),
    [
        ("loss-sum-2", 0, lambda answer: {"losses": [one + np.float32(1e-5) for one in answer["losses"]]}),
        ("loss-sum-2", 0, lambda answer: {"input_fn": []}),
        ("loss-sum-2", 0, lambda answer: {"parts": answer["parts"][::-1]}),
        ("loss-sum-2", 0, lambda answer: {"gradients": answer["gradients"][::-1]}),
        ("loss-sum-2", 1, lambda answer: {"steps": answer["steps"] + 1}),
        ("steps-add-up", 1, lambda answer: {"checkpoints": {"3": answer["checkpoints"]["3"]}}),
        ("predict-2", 1, lambda answer: {"predictions": answer["predictions"][1:]}),
    ],
)
def test_an_answer_that_was_recorded_otherwise_is_seen(tools, name, call, changed):
    line = one_line(tools, name)
    assert not any(one.text for one in tools.estimator_replay.replay([line], "sim", Semantics.TF1_15))
    answer = line["answers"]["1.15.5"]["calls"][call]
    answer.update(changed(answer))
    found = list(tools.estimator_replay.replay([line], "sim", Semantics.TF1_15))
    assert [bool(one.text) for one in found] == [number == call for number in range(len(found))]


def test_another_scale_of_gradients_is_seen(tools):
    line = one_line(tools, "loss-mean-2")
    line["case"]["loss"] = "SUM"
    assert next(tools.estimator_replay.replay([line], "sim", Semantics.TF1_15)).text


def test_an_input_context_that_1_13_did_not_pass_is_seen(tools):
    line, mixed = one_line(tools, "context-2"), replace(Semantics.TF1_13, estimator_input_context="pass")
    assert not any(one.text for one in tools.estimator_replay.replay([line], "sim", Semantics.TF1_13))
    assert "input_fn" in next(tools.estimator_replay.replay([line], "sim", mixed)).text


def test_a_deviation_that_agrees_is_to_be_struck_from_the_list(tools):
    deviation = next(iter(tools.estimator_replay.listed(Semantics.TF1_15).values()))
    assert "strike it" in tools.estimator_verdict.judged("a/0", {"x": 1}, {"x": 1}, deviation).text
