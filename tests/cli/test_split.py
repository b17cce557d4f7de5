"""`simstrategy split`: what it prints is what a strategy hands out, and what is odd is said."""

import json

import numpy as np
import pytest

pytest.importorskip("typer")

from typer.testing import CliRunner

import simstrategy as ss
from simstrategy.cli.app import app_for
from simstrategy.data import AutoShardPolicy, Dataset
from simstrategy.data.split_preview import numbered_lines


def call(*arguments):
    return CliRunner().invoke(app_for(["split"]), ["split", *map(str, arguments)])


def answers(*arguments):
    result = call(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_the_table_names_steps_workers_replicas_elements_and_what_is_odd():
    result = call("--total", 5, "--batch", 4, "--replicas", 2, "--policy", "auto")
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert lines[0] == "5 elements, batches of 4, 1 × 2 replicas, TF1_15"
    assert "AUTO: each worker reads some of the elements; batches are split by the rule 'per batch'" in lines
    assert "step worker 0 replica 0 worker 0 replica 1" in lines
    assert "0 0 1 2 3" in lines
    assert "1 4 -" in lines
    assert "all 5 elements are used, none twice" in lines
    assert "! 1 empty parts: a mean of one is NaN; reduce(MEAN, axis=0) is right" in lines


@pytest.mark.parametrize("policy", AutoShardPolicy, ids=lambda policy: policy.name)
@pytest.mark.parametrize("semantics", ["TF1_15", "TF2"])
def test_the_parts_are_those_that_a_cluster_hands_out(policy, semantics):
    lines = [3, 5, 2]
    shown = answers(
        *("--files", "3,5,2", "--batch", 3, "--workers", 2, "--replicas", 2),
        *("--policy", policy.name, "--semantics", semantics),
    )[policy.name]
    dataset = numbered_lines(lines)
    if policy is AutoShardPolicy.HINT:
        dataset = dataset.shard(ss.data.SHARD_HINT, 0)

    def main(strategy):
        options = ss.InputOptions(auto_shard_policy=policy)
        steps = strategy.experimental_distribute_dataset(dataset.batch(3), options)
        return [[[one.decode() for one in part] for part in step.values] for step in steps]

    found = ss.sim.Cluster(2, 2, semantics=ss.strategy.PROFILES[semantics]).run(main)
    assert shown["steps"] == [[*one, *two] for one, two in zip(*found, strict=True)]


def test_what_is_lost_and_what_comes_twice_is_counted():
    shown = answers("--total", 5, "--batch", 2, "--workers", 3, "--replicas", 1)
    assert shown["OFF"]["twice"] == [str(i) for i in range(5) for _ in range(2)]
    assert "elements come 3 times on average: 3 times the work" in shown["OFF"]["warnings"]
    assert shown["DATA"]["lost"] == shown["DATA"]["twice"] == []
    assert "worker 2 gets nothing at all" in shown["DATA"]["warnings"]
    assert shown["FILE"]["error"].startswith("Found an unshardable source dataset")
    dropped = answers("--files", "3,3", "--batch", 2, "--workers", 2, "--drop-remainder", "--policy", "FILE")["FILE"]
    assert dropped["lost"] == ["f0-2", "f1-2"]


def test_the_summary_counts_what_is_lost_and_what_is_repeated():
    repeated = call("--total", 5, "--batch", 2, "--workers", 3, "--replicas", 1, "--policy", "OFF")
    assert "all 5 elements are used, with 10 repetitions" in repeated.stdout
    lost = call("--files", "3,3", "--batch", 2, "--workers", 2, "--drop-remainder", "--policy", "FILE")
    assert "4 of 6 elements are used, none twice" in lost.stdout
    assert "FILE: each worker reads some of the files; batches are split by the rule" in lost.stdout


def test_policies_with_one_answer_share_a_table_and_a_rule_may_be_asked_for():
    result = call("--total", 6, "--batch", 8, "--rule", "stream", "--policy", "OFF, FILE")
    assert "OFF, FILE: every worker reads all elements; batches are split by the rule 'stream'" in result.stdout
    assert " ".join(result.stdout.split()).count("0 1 2 3 4 5") == 1


def test_a_long_table_is_cut_and_says_so():
    result = call("--total", 100, "--batch", 1, "--policy", "AUTO", "--first", 3)
    assert "… and 97 more steps" in result.stdout
    assert "all 100 elements are used, none twice" in result.stdout


def test_an_empty_dataset_has_no_steps():
    shown = answers("--total", 0)["AUTO"]
    assert (shown["steps"], shown["elements"], shown["warnings"]) == ([], 0, [])
    assert call("--total", 0).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--policy", "SOME"), "'SOME' is not a policy: choose from OFF, AUTO, FILE, DATA, HINT, or all"),
        (("--policy", ""), "is not a policy"),
        (("--rule", "fast"), "'fast' is not a rule: choose from per-batch, stream"),
        (("--files", "3,x"), "'3,x' is not a list of numbers of lines"),
        (("--semantics", "TF3"), "'TF3' is not a profile"),
        (("--batch", "0"), "greater than or equal to 1"),
    ],
)
def test_a_wrong_option_is_told(arguments, text):
    result = call(*arguments)
    assert result.exit_code == 2
    assert text in " ".join(result.stderr.replace("│", " ").split())


def test_elements_that_cannot_be_shown_are_refused():
    from simstrategy.data import DatasetRules, SplitRule
    from simstrategy.data.split_preview import split_preview

    rules = DatasetRules(SplitRule.STREAM, "refuse")
    with pytest.raises(ss.errors.InvalidArgument, match=r"batches \[batch\] of numbers or texts, got shape \[1, 2\]"):
        split_preview(Dataset.from_tensors(np.ones((2, 2))), AutoShardPolicy.AUTO, rules, workers=1, replicas=2)
