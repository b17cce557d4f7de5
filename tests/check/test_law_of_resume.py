"""The law of resume: n + m steps give what n, a save, a new start, and m steps give.

Clauses: J-16, J-19
"""

import numpy as np
import pytest
from resume_programs import RIGHT, WRONG, ctx, momentum, saves_every_second_step, seeds_by_step

import simstrategy as ss
from simstrategy.check.laws.tails import tail_of
from simstrategy.check.outcome import Outcome
from simstrategy.errors import ContextError, InvalidArgument, InvalidType


def judged(program, replicas=(1, 2, 3), **settings):
    return ss.check(program, replicas=replicas, laws=["resume"], **settings)


def rows(report):
    return [row for row in report.rows if row.law == "resume"]


def test_there_are_ten_programs_and_more():
    assert (len(RIGHT), len(WRONG)) >= (7, 3)


@pytest.mark.parametrize("program", RIGHT, ids=lambda program: program.__name__)
def test_programs_that_save_all_they_need_are_not_accused(program):
    report = judged(program)
    assert report.agrees, str(report)
    assert all(row.compared for row in rows(report))
    assert "law of resume" in str(report).splitlines()[-1]


@pytest.mark.parametrize(("program", "lost"), WRONG.items(), ids=lambda one: getattr(one, "__name__", ""))
def test_programs_that_lose_state_are_found_at_each_number_of_replicas(program, lost):
    report = judged(program)
    findings = [finding for finding in report.findings if finding.law == "resume"]
    assert [finding.replicas for finding in findings] == ["1", "2", "3"], str(report)
    assert all(lost in finding.text for finding in findings), str(report)
    assert {finding.schedule.partition(" of")[0] for finding in findings} == {"restored from save 1"}


def test_three_places_are_tried_and_a_start_with_another_number_of_replicas():
    found = [(row.replicas, row.schedule) for row in rows(judged(momentum, replicas=[1, 3]))]
    assert found == [
        ("1", "restored from save 1 of 5"),
        ("1", "restored from save 3 of 5"),
        ("1", "restored from save 4 of 5"),
        ("3", "restored from save 3 of 5 by 1 replica"),
        ("3", "restored from save 1 of 5"),
        ("3", "restored from save 3 of 5"),
        ("3", "restored from save 4 of 5"),
        ("1", "restored from save 3 of 5 by 3 replicas"),
    ]


def test_the_part_of_a_history_that_the_new_start_does_not_have_is_listed():
    report = judged(saves_every_second_step, replicas=[2])
    assert "Not compared: result['losses']: of the first 2 of 5 items" in str(report)


def test_a_history_by_step_is_compared_where_the_new_start_has_it():
    def program(strategy, checkpoint, wrong=0.0):
        found = {"loss": {}}
        done = checkpoint.restore() or 0
        for step in range(done, 12):
            found["loss"][step] = np.float32(step + wrong * (done > 0))
            checkpoint.save(step + 1)
        return found

    report = judged(program, replicas=[1, 2])
    assert report.agrees, str(report)
    assert "Not compared: result['loss'][0]: the run that restored does not have it" in str(report)
    report = judged(lambda strategy, checkpoint: program(strategy, checkpoint, wrong=1.0), replicas=[1, 2])
    assert "result['loss'][1]: 2.0 against 1.0" in report.findings[0].text


def test_a_program_without_a_seed_is_not_accused():
    def program(strategy, checkpoint):
        done, total = checkpoint.restore() or (0, 0.0)
        for step in range(done, 4):
            total += np.random.normal()
            checkpoint.save((step + 1, total))
        return total

    report = judged(program, replicas=[1])
    assert (report.verdict, report.findings) == ("undecided", ())
    assert "NOT JUDGED: not repeatable" in str(report)


def test_state_that_another_number_of_replicas_loses():
    def program(strategy, checkpoint):
        """Saves a replica's share, and takes it for the share of as many replicas as there are now."""
        count = strategy.num_replicas_in_sync
        done, share = checkpoint.restore() or (0, 0)
        total = np.float32(share * count)
        for number in range(done, 3):
            total += np.float32(12)
            checkpoint.save((number + 1, total / np.float32(count)))
        return strategy.run(lambda: ctx().all_reduce("SUM", total / np.float32(count)))

    report = judged(program, replicas=[2, 4])
    assert [(one.replicas, one.schedule) for one in report.findings if one.law == "resume"] == [
        ("4", "restored from save 2 of 3 by 2 replicas"),
        ("2", "restored from save 2 of 3 by 4 replicas"),
    ]


def test_a_program_that_depends_on_the_replicas_anyway_is_not_judged_with_another_number():
    report = judged(seeds_by_step, replicas=[1, 2])
    assert not report.findings, str(report)
    names = [(row.replicas, row.why) for row in rows(report) if row.undecided is not None]
    assert names == [(count, "the number of replicas matters without a stop") for count in ("2", "1")]


def test_a_program_may_refuse_what_another_number_of_replicas_saved():
    def program(strategy, checkpoint):
        count, total = checkpoint.restore() or (strategy.num_replicas_in_sync, 0)
        if count != strategy.num_replicas_in_sync:
            raise ValueError("saved by others")
        for number in range(total, 3):
            checkpoint.save((count, number + 1))
        return strategy.run(lambda: ctx().all_reduce("MEAN", np.float32(3)))

    report = judged(program, replicas=[1, 2])
    assert report.verdict == "undecided"
    assert "with 2 replicas it refuses what 1 replica saved: ValueError: saved by others" in str(report)


def test_what_is_saved_is_a_copy():
    def program(strategy, checkpoint):
        state = checkpoint.restore() or {"values": []}
        for number in range(len(state["values"]), 3):
            state["values"].append(number)
            checkpoint.save(state)
        return state

    first = ss.Checkpoint()
    program(None, first)
    assert ss.Checkpoint(first.saved[1]).restore() == {"values": [0]}
    assert judged(program, replicas=[1, 2]).agrees


def total_of(strategy, value):
    return strategy.run(lambda: ctx().all_reduce("MEAN", np.float32(value)))


def never_restores(strategy, checkpoint):
    for number in range(3):
        checkpoint.save(number)
    return total_of(strategy, 1)


def begins_again(strategy, checkpoint):
    checkpoint.restore()
    return never_restores(strategy, checkpoint)


def saves_nothing(strategy, checkpoint):
    checkpoint.restore()
    return total_of(strategy, 1)


@pytest.mark.parametrize(
    ("program", "text"),
    [
        (never_restores, "the program saves and does not restore: begin with checkpoint.restore()"),
        (begins_again, "it saved 3 times after the restore, and 2 were left: did it begin again?"),
        (saves_nothing, "the program saved nothing: call checkpoint.save(nest) after each step"),
        (lambda strategy: total_of(strategy, 1), "Define program(strategy, checkpoint)"),
        (lambda strategy, checkpoint=None: total_of(strategy, 1), "Define program(strategy, checkpoint)"),
    ],
)
def test_a_program_that_takes_no_part_is_not_judged(program, text):
    report = judged(program, replicas=[1, 2])
    assert report.verdict == "undecided"
    assert text in str(report)


def test_all_laws_leave_a_program_without_a_checkpoint_its_verdict_and_say_so():
    report = ss.check(lambda strategy: total_of(strategy, 1), replicas=[1, 2], laws=["all"])
    assert report.agrees, str(report)
    assert "Not compared: the law of resume: the program takes no checkpoint" in str(report)
    assert "law of resume" not in str(report).splitlines()[-1]


def test_a_program_with_a_checkpoint_runs_under_every_law():
    report = ss.check(momentum, replicas=[1, 3], laws=["order"])
    assert report.agrees, str(report)


def in_replica(strategy, checkpoint):
    strategy.run(lambda: checkpoint.save(1))


def a_variable(strategy, checkpoint):
    with strategy.scope():
        checkpoint.save({"w": ss.Variable(np.float32(1), name="w")})


def an_iterator(strategy, checkpoint):
    checkpoint.save(iter(range(3)).__next__ and (number for number in range(3)))


@pytest.mark.parametrize(
    ("program", "kind", "text"),
    [
        (in_replica, ContextError, "checkpoint.save was called in a replica function"),
        (a_variable, InvalidType, "a Variable belongs to its strategy. Save strategy.save(variables)"),
        (an_iterator, InvalidType, "this one has no such form"),
    ],
)
def test_what_cannot_be_saved(program, kind, text):
    strategy = ss.Strategy.mirrored("sim", replicas=2)
    with pytest.raises(kind) as raised:
        program(strategy, ss.Checkpoint())
    assert text in str(raised.value)


def test_a_checkpoint_begins_with_bytes():
    with pytest.raises(InvalidArgument, match="begins with the bytes of a save"):
        ss.Checkpoint({"step": 1})


def test_of_many_saves_the_first_and_the_last_are_kept():
    checkpoint = ss.Checkpoint()
    for number in range(1000):
        checkpoint.save(number)
    assert checkpoint.saves == 1000
    assert 32 <= len(checkpoint.saved) <= 64
    assert min(checkpoint.saved) == 1
    assert max(checkpoint.saved) > 950


def test_the_tail_of_lists_in_lists_and_of_arrays():
    def outcome(lengths, rows):
        leaves, structure = [], [("result", f"list of {len(lengths)}")]
        for number, length in enumerate(lengths):
            structure.append((f"result[{number}]", f"list of {length}"))
            leaves += [(f"result[{number}][{item}]", np.asarray(10 * number + item)) for item in range(length)]
        leaves.append(("result.rows", np.arange(rows)))
        return Outcome(tuple(leaves), None, (), structure=tuple(structure), computed=("int64",) * len(leaves))

    longer, shorter = outcome([2, 3, 4], 5), outcome([3, 1], 2)
    found, left = tail_of(longer, shorter)
    assert len(left) == 3
    assert [(path, leaf.tolist()) for path, leaf in found.leaves] == [
        ("result[0][0]", 10),
        ("result[0][1]", 11),
        ("result[0][2]", 12),
        ("result[1][0]", 23),
        ("result.rows", [3, 4]),
    ]
