"""The law of coverage: replicas share out the rows of a dataset.

Clauses: J-17, J-19
"""

import re

import numpy as np
import pytest
from coverage_programs import (
    LAWFUL,
    NOT_JUDGED,
    ROWS,
    WRONG,
    four_steps,
    made,
    sharded,
    slices,
    split,
    total,
    without_shard,
)

import simstrategy as ss
from simstrategy.check.drawn import Drawn


def judged(program, replicas=(1, 2, 3), **settings):
    settings = {"laws": ["coverage"], "without": ["replicas"]} | settings
    return ss.check(program, replicas=replicas, **settings)


def rows(report):
    return [row for row in report.rows if row.law == "coverage"]


@pytest.mark.parametrize("name", LAWFUL)
def test_lawful_programs_are_not_accused(name):
    report = judged(LAWFUL[name])
    assert report.agrees, str(report)
    assert [row.replicas for row in rows(report)] == ["2", "3"]
    assert all(row.compared for row in rows(report))


@pytest.mark.parametrize("name", NOT_JUDGED)
def test_what_may_be_chance_is_not_judged(name):
    program, why = NOT_JUDGED[name]
    report = judged(program, replicas=[1, 2])
    assert not report.findings, str(report)
    assert report.verdict == "undecided"
    assert re.search(why, str(report))


@pytest.mark.parametrize("name", WRONG)
def test_lost_and_repeated_rows_are_found(name):
    program, text = WRONG[name]
    report = judged(program, replicas=[1, 2])
    (finding,) = report.findings
    assert (finding.law, finding.replicas) == ("coverage", "2")
    assert text in finding.text
    assert "distributed dataset 1, pass 1" in finding.text


def test_workers_without_a_shard_draw_the_same_rows():
    one_process = ss.InputOptions()
    wrong, right = made(without_shard, one_process), made(sharded, one_process)
    assert judged(wrong, replicas=[1, 2]).agrees
    report = judged(wrong, replicas=[1, 2], workers=[1, 2])
    assert [(one.law, one.replicas) for one in report.findings] == [("coverage", "2 × 1")]
    assert "with 2 workers all replicas draw the same 17 rows" in str(report)
    assert judged(right, replicas=[1, 2], workers=[1, 2]).agrees


def test_padding_and_a_dropped_remainder_are_remarks():
    texts = {name: str(judged(LAWFUL[name], replicas=[1, 2])) for name in ("padded", "cut off", "sharded")}
    assert "with 2 replicas row 0 is drawn more than once" in texts["padded"]
    assert "padding of the last step?" in texts["padded"]
    assert "not drawn" not in texts["cut off"]
    three = str(judged(LAWFUL["cut off"], replicas=[1, 3]))
    assert "an incomplete step that is dropped?" in three
    assert "drawn" not in texts["sharded"]


@pytest.mark.parametrize(("seed", "said"), [(None, True), (3, False)])
def test_the_same_order_in_every_pass_is_a_remark(seed, said):
    dataset = slices() if seed is None else slices().shuffle(17, seed=seed)
    report = judged(split(dataset.batch(4), passes=3))
    assert report.agrees
    assert ("distributed dataset 1 has the same order in each of its 3 passes" in str(report)) is said


def test_each_dataset_and_pass_has_its_number():
    def program(strategy):
        right = total(strategy, strategy.experimental_distribute_dataset(slices().batch(4)))
        data = strategy.distribute_datasets_from_function(without_shard, WRONG_OPTIONS)
        return [right, total(strategy, data), total(strategy, data)]

    (finding,) = judged(program, replicas=[1, 2]).findings
    assert "dataset 1," not in finding.text
    assert "distributed dataset 2, pass 1" in finding.text
    assert "distributed dataset 2, pass 2" in finding.text


WRONG_OPTIONS = ss.InputOptions(experimental_replication_mode=ss.InputReplicationMode.PER_REPLICA)


def slices_its_own(strategy):
    count = strategy.num_replicas_in_sync

    def step():
        rank = ss.get_replica_context().replica_id_in_sync_group
        return ss.get_replica_context().all_reduce("SUM", np.float32(ROWS[rank::count].sum()))

    return strategy.run(step)


def test_a_program_that_slices_its_own_data_is_not_judged():
    report = judged(slices_its_own, replicas=[1, 2], without=[])
    assert report.verdict == "undecided"
    assert "NOT JUDGED: no distributed data" in str(report)
    report = ss.check(slices_its_own, replicas=[1, 2], laws=["all"])
    assert report.agrees, str(report)
    assert "not judged: no distributed data" in str(report)
    assert "Not compared: the law of coverage: the program distributes no dataset" in str(report)


def test_another_number_of_datasets_is_not_judged():
    def program(strategy):
        each = [total(strategy, strategy.experimental_distribute_dataset(slices().batch(4))) for _ in range(2)]
        if strategy.num_replicas_in_sync == 2:
            each.append(total(strategy, strategy.experimental_distribute_dataset(slices().batch(4))))
        return each[0]

    assert "with 2 replicas 3 datasets are distributed, and with 1 replica 2" in str(judged(program, replicas=[1, 2]))


def test_fewer_rows_in_as_many_steps_are_not_judged():
    report = judged(made(four_steps), replicas=[2, 1])
    assert not report.findings, str(report)
    assert "with 1 replica fewer rows are drawn than with 2 replicas, in as many steps" in str(report)


def test_one_number_of_replicas_is_compared_with_nothing():
    report = judged(LAWFUL["sharded"], replicas=[2])
    assert report.verdict == "undecided"


def test_a_program_that_raises_is_not_judged():
    def program(strategy):
        total(strategy, strategy.experimental_distribute_dataset(slices().batch(4)))
        raise ValueError("at the end")

    report = judged(program, replicas=[1, 2], allow_errors=True)
    assert "NOT JUDGED: it raises" in str(report)


def test_rows_are_known_by_all_their_arrays_whatever_these_are():
    def keys(*leaves):
        drawn = Drawn()
        drawn.watch()(0, [list(leaves)])
        return [*drawn.passes()[0][0].rows()], drawn.unknown

    numbers, texts = np.float32([1, 1]), np.asarray(["a", "b"], object)
    assert len({*keys(numbers)[0]}) == 1
    assert len({*keys(numbers, texts)[0]}) == 2
    assert keys(numbers)[0] != keys(np.float64([1, 1]))[0]
    assert len(keys(np.asarray(1), np.asarray(2))[0]) == 1
    assert keys(numbers, np.asarray(1)) == ([], True)
    assert keys(object()) == ([], True)
