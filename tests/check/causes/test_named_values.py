"""Named values of replica functions: what is recorded, and that Python's tracing is put back.  Clauses: J-28"""

import sys
from typing import Any

import numpy as np
import pytest
from training import ctx, variable
from wrong_programs import WRONG, line_of

from simstrategy.check.causes.running import explain_difference, explain_recordings, record
from simstrategy.check.causes.watching import NamedValue


def test_values_have_replica_step_line_and_name() -> None:
    def program(strategy: Any) -> Any:
        w = variable(strategy, "w")

        def step(x: Any) -> None:
            twice = x * 2
            w.assign(twice)
            rest = twice - 1  # noqa: F841 - it has a name only

        for _ in range(2):
            strategy.run(step, args=(np.float32([1, 2, 3]),))

    named: list[NamedValue] = []
    record(program, 2, named=named)
    twice = [one for one in named if one.name == "twice"]
    assert [(one.step, one.replica, one.value.tolist()) for one in twice] == [
        (step, replica, [2.0, 4.0, 6.0]) for step in (1, 2) for replica in (0, 1)
    ]
    assert {one.site.partition(":")[0] for one in twice} == {"test_named_values.py"}
    (first, *_), (rest, *_) = twice, [one for one in named if one.name == "rest"]
    assert int(rest.site.rpartition(":")[2]) == int(first.site.rpartition(":")[2]) + 2
    assert first.number < rest.number  # the write is between them


@pytest.mark.parametrize("fails", [False, True])
def test_tracing_is_put_back(fails: bool) -> None:
    def tracer(frame: Any, event: str, argument: Any) -> None:
        return None

    def program(strategy: Any) -> None:
        strategy.run(lambda: 1)
        if fails:
            raise KeyError("mine")

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        recording = record(program, 2, named=[])
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(before)
    assert recording.results[0].error == (("KeyError", "'mine'") if fails else None)


def test_without_named_values_draws_are_not_recognised() -> None:
    wrong = WRONG["one_stream_for_all"]
    runs = [record(wrong.program, count) for count in (1, wrong.replicas)]
    cause = explain_recordings(runs[0], runs[1], counts=(1, wrong.replicas))
    assert (cause.kind, cause.site, cause.source) == (None, line_of(wrong.program), None)


def test_the_first_value_that_differs_is_named_with_its_line() -> None:
    def program(strategy: Any) -> Any:
        rows = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)

        def part(context: Any) -> Any:
            size = len(rows) // context.num_replicas_in_sync
            first = int(context.replica_id_in_sync_group) * size
            return rows[first : first + size]

        def step(x: Any) -> Any:
            cubes = (x - x.mean(axis=0)) ** 3
            return ctx().all_reduce("SUM", cubes.sum(axis=0))

        found = strategy.run(step, args=(strategy.experimental_distribute_values_from_function(part),))
        return strategy.experimental_local_results(found)[0]

    cause = explain_difference(program, (1, 2))
    assert (cause.kind, cause.step) == (None, 1)
    assert "The kind is not recognised: the first recorded value in the replica functions that differs" in cause.text
    assert f"is cubes at {cause.source}" in cause.text


def test_a_program_that_raises_prints_or_returns_nothing_is_no_trouble() -> None:
    def raises(strategy: Any) -> Any:
        if strategy.num_replicas_in_sync > 1:
            raise ValueError("no")
        return 1.0

    assert explain_difference(raises, (1, 2)).kind is None
    assert explain_difference(lambda strategy: None, (1, 2)).step is None
    text = explain_difference(lambda strategy: ["a", strategy.num_replicas_in_sync], (1, 2))
    assert (text.kind, text.variable) == (None, "result[1]")


def test_several_replicas_in_the_reference_are_explained_without_named_values() -> None:
    wrong = WRONG["mean_by_the_aggregation"]
    cause = explain_difference(wrong.program, (2, 4))
    assert (cause.kind, cause.step, cause.site) == (wrong.kind, 2, line_of(wrong.program))
    assert cause.text.startswith("4 replicas against 2 replicas: ")
    assert explain_difference(WRONG["one_stream_for_all"].program, (2, 4)).kind is None


def test_coarse_floats_are_rounded_coarsely() -> None:
    def program(strategy: Any) -> Any:
        rows = np.random.default_rng(0).normal(size=(12, 3)).astype(np.float32)
        given = strategy.experimental_distribute_values_from_function(
            lambda context: np.array_split(rows, context.num_replicas_in_sync)[int(context.replica_id_in_sync_group)]
        )

        def step(x: Any) -> Any:
            return ctx().all_reduce("MEAN", strategy.xp.mean(strategy.xp.astype(x, "bfloat16"), axis=0))

        return strategy.experimental_local_results(strategy.run(step, args=(given,)))[0]

    assert explain_difference(program, (1, 3)).step is None


POINTS = np.random.default_rng(5).normal(size=(9, 3)).astype(np.float32)


def test_a_loop_over_all_parts_shows_no_duplicates() -> None:
    """J-24: each replica sees every part, and takes one of them."""

    def program(strategy: Any) -> Any:
        def step() -> Any:
            parts = np.array_split(POINTS, strategy.num_replicas_in_sync)
            shortest = min(len(part) for part in parts)
            mine = parts[int(ctx().replica_id_in_sync_group)][:shortest]
            return ctx().all_reduce("SUM", strategy.xp.sum(strategy.xp.asarray(mine), axis=0))

        return strategy.unwrap(strategy.run(step))[0]

    assert explain_difference(program, (1, 2)).kind == "missing samples"


def test_rows_of_which_all_replicas_have_the_whole_and_a_part_are_no_duplicates() -> None:
    """J-24: the sums are clipped, and so the same on all replicas."""

    def program(strategy: Any) -> Any:
        def step() -> Any:
            points = strategy.xp.asarray(np.abs(POINTS[:8]) + 1)
            mine = points[int(ctx().replica_id_in_sync_group) :: strategy.num_replicas_in_sync]
            return ctx().all_reduce("SUM", strategy.xp.clip(strategy.xp.sum(mine, axis=0), -1.7, 1.7))

        return strategy.unwrap(strategy.run(step))[0]

    assert explain_difference(program, (1, 2)).kind != "duplicated samples"


def test_rows_that_the_reference_has_twice_are_not_missing() -> None:
    """J-24: replica 0 counts its rows twice, and with one replica it has them all."""

    def program(strategy: Any) -> Any:
        def step() -> Any:
            rank = int(ctx().replica_id_in_sync_group)
            mine = np.array_split(POINTS, strategy.num_replicas_in_sync)[rank]
            rows = np.concatenate([mine, mine]) if rank == 0 else mine
            return ctx().all_reduce("SUM", strategy.xp.sum(strategy.xp.asarray(rows), axis=0))

        return strategy.unwrap(strategy.run(step))[0]

    assert explain_difference(program, (1, 2)).kind == "duplicated samples"


def test_what_is_divided_by_a_norm_of_its_part_is_not_called_clipped() -> None:
    errors = np.random.default_rng(1).normal(size=(12, 3)).astype(np.float32)

    def program(strategy: Any) -> Any:
        w = variable(strategy, "w")
        parts = strategy.experimental_distribute_values_from_function(
            lambda one: np.array_split(errors, one.num_replicas_in_sync)[one.replica_id_in_sync_group]
        )

        def step(error: Any) -> None:
            xp = ctx().xp
            root = xp.sqrt(xp.sum(error * error) / error.shape[0])
            gradient = error / (root * 12)
            w.assign_sub(ctx().all_reduce("SUM", xp.sum(gradient, axis=0)))

        strategy.run(step, args=(parts,))
        return w.read_value()

    for replicas in (2, 3):
        cause = explain_difference(program, (1, replicas))
        assert cause is not None
        assert (cause.kind, cause.also) == ("statistics per replica", ("clipping before the sum",)), cause.text
        assert cause.source == f"test_named_values.py:{program.__code__.co_firstlineno + 9}"


ROWS_OF_ALL = (np.random.default_rng(7).normal(size=(12, 2)) ** 3).astype(np.float32)


def kept_above(bound: Any) -> Any:
    """Returns a program whose replicas keep the rows above a bound, which a function gives for a part."""

    def program(strategy: Any) -> Any:
        def step(rows: Any) -> Any:
            middle = bound(rows)
            chosen = np.where(np.asarray(rows) >= middle, np.asarray(rows), np.float32(0))
            return ctx().all_reduce("SUM", chosen.sum(axis=0))

        parts = strategy.experimental_distribute_values_from_function(
            lambda one: np.array_split(ROWS_OF_ALL, one.num_replicas_in_sync)[one.replica_id_in_sync_group]
        )
        return strategy.unwrap(strategy.run(step, args=(parts,)))[0]

    return program


def test_a_number_that_each_replica_computes_of_its_rows_is_a_statistic_with_its_line() -> None:
    """Clause: J-40."""
    cause = explain_difference(kept_above(np.median), (1, 3))
    assert cause.kind == "statistics per replica", cause.text
    assert cause.source == f"test_named_values.py:{kept_above.__code__.co_firstlineno + 5}"
    assert "each replica has its own middle at" in cause.text


@pytest.mark.parametrize(
    "bound",
    [
        lambda rows: np.float32(np.random.default_rng(int(ctx().replica_id_in_sync_group)).normal() / 8),
        lambda rows: np.float32(len(rows)) / 8,
        lambda rows: np.mean(np.asarray(rows)),
        lambda rows: np.max(np.asarray(rows)),
    ],
    ids=["a draw", "a part of the work", "a mean", "a largest"],
)
def test_a_number_of_another_kind_is_no_statistic_without_a_doubt(bound: Any) -> None:
    """Clause: J-40."""
    cause = explain_difference(kept_above(bound), (1, 3))
    assert "each replica has its own" not in cause.text, cause.text


def test_the_first_value_that_no_sum_gives_is_named_without_a_kind() -> None:
    """Clause: J-41."""

    def program(strategy: Any) -> Any:
        def step(rows: Any) -> Any:
            mine = np.asarray(rows).sum(axis=0)
            other = np.float32(0.5) + mine**3
            return ctx().all_reduce("SUM", other)

        parts = strategy.experimental_distribute_values_from_function(
            lambda one: np.array_split(ROWS_OF_ALL, one.num_replicas_in_sync)[one.replica_id_in_sync_group]
        )
        return strategy.unwrap(strategy.run(step, args=(parts,)))[0]

    cause = explain_difference(program, (1, 3))
    line = program.__code__.co_firstlineno + 3
    assert cause.kind is None
    assert cause.text.endswith(f"sum or mean is not the reference's is other at test_named_values.py:{line}.")
