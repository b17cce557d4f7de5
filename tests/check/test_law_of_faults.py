"""The law of faults: whatever fails where, the error is named, nothing is half-written, and the next run is right.

Clauses: J-30, J-31
"""

import re
import threading
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from shares import one_in

import simstrategy as ss
from simstrategy.check import attempts
from simstrategy.check.programs import load_program
from simstrategy.run.coordinator import CollectiveMatcher
from simstrategy.run.replica_tasks import ReplicaTasks
from simstrategy.sim import fabric
from simstrategy.strategy.running import Runner
from simstrategy.strategy.variables.storage import Storage

law = import_module("simstrategy.check.laws.faults")
DIGITS = Path(__file__).resolve().parents[2] / "examples" / "train_digits.py"
ROWS = np.float32([[0.3, 1.5], [2.25, -0.7], [1.1, 0.4], [-3.0, 0.9], [0.2, 2.4], [1.7, -1.2]])
SUM, MEAN = ss.VariableAggregation.SUM, ss.VariableAggregation.MEAN


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Three points of each kind at two replicas."""
    monkeypatch.setattr(law, "FAULTS_MAX", 7 * 2 * 3)


def ctx():
    return ss.get_replica_context()


def batches(strategy):
    return strategy.experimental_distribute_dataset(ss.data.Dataset.from_tensor_slices(ROWS).batch(3))


def weights(strategy, aggregation=SUM, **settings):
    with strategy.scope():
        return ss.Variable(np.float32([0.5, 1.0]), aggregation=aggregation, name="weights", **settings)


def trained(strategy):
    """Points of five kinds: a sum, a gather, a merge call, an update and a write."""
    variable = weights(strategy)

    def add_mean(strategy, rows):
        mean = strategy.extended.reduce_to("MEAN", rows, variable)
        strategy.extended.update(variable, lambda component, delta: component.assign_add(delta), args=(mean,))

    def step(x):
        total = ctx().all_reduce("SUM", ctx().xp.sum(x))
        rows = ctx().all_gather(x, axis=0)
        mean = ctx().merge_call(lambda s, v: s.extended.reduce_to("MEAN", v, variable), (total,))
        ctx().merge_call(add_mean, (rows[0],))
        variable.assign_sub(ctx().xp.sum(x, axis=0) * mean)
        return total

    return [strategy.reduce("SUM", strategy.run(step, args=(x,)), axis=None) for x in batches(strategy)]


def check(program, replicas=(2,), **settings):
    return ss.check(program, replicas=replicas, laws=["faults"], without=["replicas"], **settings)


def findings(program, replicas=(2,), **settings):
    found = check(program, replicas, **settings).findings
    assert all(one.law == "faults" for one in found), found
    return {one.schedule.partition(",")[0]: one.text for one in found}


def rows_of(report):
    return [(row.replicas, row.schedule, row.why) for row in report.rows if row.law == "faults"]


ALL_KINDS = [
    "an exception in one replica",
    "inf in one replica's value",
    "inf in one replica's argument",
    "an early end of one replica",
    "a slow replica",
    "a dead replica",
    "an exception out of the answer",
    "a dead worker",
]


@pytest.mark.parametrize("replicas", [2, 3, 4])
def test_every_fault_at_every_kind_of_point_is_named_and_leaves_nothing_half_written(replicas, monkeypatch):
    monkeypatch.setattr(law, "FAULTS_MAX", 7 * replicas * {2: 10, 3: 3, 4: 2}[replicas])
    report = check(trained, [replicas])
    assert report.agrees, str(report)
    assert [what.partition(", at ")[0] for _, what, _ in rows_of(report)] == ALL_KINDS
    assert all(held.startswith("holds in ") for _, _, held in rows_of(report))
    assert str(report).splitlines()[-1].startswith("All runs agree: ")


def test_the_digits_example_holds_under_faults(monkeypatch):
    program = load_program(DIGITS)
    module = program.__globals__
    images, labels = module["images_and_labels"]()
    monkeypatch.setitem(module, "images_and_labels", lambda: (images[:5], labels[:5]))
    monkeypatch.setitem(module, "BATCH_SIZE", 4)
    monkeypatch.setitem(module, "EPOCHS", 1)
    monkeypatch.setattr(law, "FAULTS_MAX", 7 * 2 * 2)
    report = check(program)
    assert report.agrees, str(report)
    assert rows_of(report)[0] == ("2", "an exception in one replica, at 2 of 12 points", "holds in 4 runs")


def test_more_faults_than_the_limit_are_chosen_evenly_and_the_row_states_it():
    report = check(trained)
    assert rows_of(report)[0] == ("2", "an exception in one replica, at 3 of 10 points", "holds in 6 runs")
    assert law.spread(range(1, 11), 3) == [1, 5, 10]


# What the law demands, each with a fault of the core that breaks it.


def test_a_write_that_stays_half_done_is_found(monkeypatch):
    assert not findings(trained)
    monkeypatch.setattr(Storage, "undo", lambda self, before: None)
    found = findings(trained)
    assert list(found) == ["an exception out of the answer"]
    (text,) = found.values()
    assert text.startswith("replica 1, point ")
    assert "test_law_of_faults.py:" in text
    assert "variable 'weights' is half-written: replica 1 holds another value than the first one" in text


def test_an_exception_without_a_note_is_found(monkeypatch):
    monkeypatch.setattr(CollectiveMatcher, "failed", lambda self, *_: None)
    found = findings(trained)
    assert {*found} == {"an exception in one replica", "a dead replica"}
    assert "InjectedFault comes out without a note that names the replica and the line" in found[ALL_KINDS[0]]


def test_an_exception_that_the_core_loses_is_found(monkeypatch):
    runs_of = ReplicaTasks.runs_of

    def wrapped(run_tasks):
        def swallow(count, *others):
            try:
                return run_tasks(count, *others)
            except RuntimeError:
                return [np.float32(0)] * count

        code = swallow.__code__.replace(co_filename=import_module(Runner.__module__).__file__)
        return type(swallow)(code, globals(), "swallow", None, swallow.__closure__)

    monkeypatch.setattr(ReplicaTasks, "runs_of", lambda self, count: wrapped(runs_of(self, count)))
    found = findings(trained)
    assert "the exception is lost: simstrategy/strategy/running.py" in found["an exception in one replica"]


def test_a_dead_worker_that_the_others_do_not_notice_is_found(monkeypatch):
    def repeated(strategy):
        return strategy.run(lambda: [ctx().all_reduce("SUM", 1.0) for _ in range(3)])

    monkeypatch.setattr(fabric, "_is_farewell", lambda message: True)
    found = findings(repeated)
    assert "all workers end with AssertionError, and none of them names the one" in found["a dead worker"]


def test_a_worker_that_dies_is_named_in_every_other_one():
    runs = attempts.in_cluster(trained, None, 3, attempts.Fault("dead", 1, 2))
    errors = [one.first.error for one in runs]
    assert [type(error).__name__ for error in errors] == ["PeerFailed", "ReplicaKilled", "PeerFailed"]
    assert "Worker 1 of the simulated cluster has ended without a message" in str(errors[0])
    assert "replica 0: all_gather" in str(errors[0])


# Programs that are wrong under faults.


def test_a_step_that_only_some_replicas_skip_is_found():
    def program(strategy):
        variable = weights(strategy)

        def step(x):
            gradient = ctx().xp.sum(x, axis=0)
            if bool(np.isfinite(np.asarray(gradient)).all()):
                variable.assign_sub(gradient)

        for x in batches(strategy):
            strategy.run(step, args=(x,))

    found = findings(program)
    assert list(found) == ["inf in one replica's argument"]
    assert "only some replicas skip a step where a value is not finite: ReplicasDisagree" in found[ALL_KINDS[2]]


def test_a_counter_that_only_some_replicas_move_is_found():
    def program(strategy):
        with strategy.scope():
            steps = ss.Variable(
                np.float32(0), synchronization=ss.VariableSynchronization.ON_READ, aggregation=SUM, name="steps"
            )

        def step(x):
            total = ctx().xp.sum(x)
            if np.isfinite(float(total)):
                steps.assign_add(1.0)
            return ctx().all_reduce("SUM", total)

        for x in batches(strategy):
            strategy.run(step, args=(x,))

    found = findings(program)
    assert list(found) == ["inf in one replica's argument"]
    assert "they write variable 'steps' [1, 2] times" in found[ALL_KINDS[2]]


def test_state_of_python_that_a_failure_leaves_half_changed_is_found():
    busy = []

    def program(strategy):
        if busy:
            raise RuntimeError("a step is running already")
        busy.append(True)
        total = trained(strategy)
        busy.clear()
        return total

    def first_run(strategy):
        return program(strategy)

    found = findings(first_run)
    assert "the next run of the program on the same strategy raises RuntimeError" in found[ALL_KINDS[0]]


def test_a_race_that_a_slow_replica_wins_is_found():
    def program(strategy):
        order = []

        def step():
            order.append(ctx().replica_id_in_sync_group)
            return ctx().all_reduce("SUM", 1.0)

        strategy.run(step)
        return {"order": np.asarray(order)}

    found = findings(program)
    assert found == {"a slow replica": found["a slow replica"]}
    assert "a slow replica changes result['order']: [1, 0] against [0, 1]" in found["a slow replica"]


@pytest.mark.parametrize("kept", one_in(2, [False, True]))
def test_replicas_that_wait_for_a_slow_one_outside_of_collectives_are_found(monkeypatch, kept):
    """Also where another thread has the Event that they wait for, and waits itself."""
    ends = [threading.Event()]
    monkeypatch.setattr(attempts, "_WAIT_LIMIT_S", 0.3)
    monkeypatch.setattr(law, "_dead_workers", lambda *_: ())  # workers share no Event: one of them waits for itself

    def program(strategy):
        ready = threading.Event()
        if kept:
            ends[-1].set()  # the thread of the run before
            ends.append(end := threading.Event())
            threading.Thread(target=lambda: (end.wait(), ready)).start()

        def step():
            for turn in range(2):
                if turn and ctx().replica_id_in_sync_group == 0:
                    ready.set()
                elif turn:
                    ready.wait()
                ctx().all_reduce("SUM", 1.0)

        strategy.run(step)
        return np.float32(1)

    found = findings(program)["a slow replica"]
    ends[-1].set()
    # The process of the tests may be too large to be searched for a thread that can set it.
    assert re.search("raises Replica(sBlocked|Waits): ", found), found


# Programs that are not to be accused.


def test_a_step_that_all_replicas_skip_together_is_lawful():
    def program(strategy):
        variable = weights(strategy)

        def step(x):
            gradient = ctx().all_reduce("SUM", ctx().xp.sum(x, axis=0))
            if bool(np.isfinite(np.asarray(gradient)).all()):
                variable.assign_sub(gradient / strategy.num_replicas_in_sync)

        for x in batches(strategy):
            strategy.run(step, args=(x,))

    assert not findings(program, [2, 3])


def patient(strategy):
    variable = weights(strategy, MEAN)

    def step(x):
        variable.assign_sub(ctx().xp.sum(x, axis=0))

    for x in batches(strategy):
        for _ in range(3):
            try:
                strategy.run(step, args=(x,))
                break
            except Exception:  # noqa: BLE001 - a program that goes on whatever happens
                continue


def retrying(strategy):
    def step(x):
        try:
            return ctx().all_reduce("SUM", ctx().xp.sum(x))
        except Exception:  # noqa: BLE001 - the same
            return ctx().all_reduce("SUM", ctx().xp.sum(x))

    return [strategy.run(step, args=(x,)) for x in batches(strategy)]


def renaming(strategy):
    try:
        return trained(strategy)
    except Exception as error:
        raise SystemExit("training failed") from error


@pytest.mark.parametrize("program", [patient, retrying, renaming])
def test_a_program_that_catches_the_errors_itself_is_not_accused(program):
    assert not findings(program)


def test_replicas_that_write_alone_are_not_accused():
    def program(strategy):
        variable = weights(strategy, ss.VariableAggregation.NONE)

        def step(x):
            variable.assign(ctx().all_reduce("SUM", ctx().xp.sum(x, axis=0)))

        for x in batches(strategy):
            strategy.run(step, args=(x,))

    assert not findings(program, semantics=ss.Semantics.TF2)


def test_what_changes_in_every_run_is_listed_and_not_judged():
    def program(strategy):
        def step(x):
            noise = np.random.default_rng(ctx().seed("noise")).normal()
            return ctx().all_reduce("SUM", ctx().xp.sum(x) + np.float32(noise))

        return [strategy.run(step, args=(x,)) for x in batches(strategy)]

    report = check(program)
    assert report.agrees, str(report)
    assert "of the next run on the same strategy: they change without a fault as well" in str(report)


@pytest.mark.parametrize(
    ("program", "text"),
    [
        (lambda strategy: np.float32(1), "has no synchronisation point"),
        (lambda strategy: strategy.run(lambda: 1 / 0), "raises ZeroDivisionError"),
    ],
)
def test_a_program_without_points_or_that_raises_is_not_judged(program, text):
    report = check(program, allow_errors=True)
    assert report.verdict == "undecided"
    assert f"no fault was planted: the program {text}" in str(report)


def test_integers_get_no_inf_and_one_replica_no_fault():
    def program(strategy):
        return strategy.run(lambda: ctx().all_reduce("SUM", 1))

    report = check(program, [1, 2])
    kinds = [what.partition(",")[0] for _, what, _ in rows_of(report)]
    assert "inf in one replica's value" not in kinds
    assert {replicas for replicas, _, _ in rows_of(report)} == {"2", "2 × 1"}


@pytest.mark.slow
@pytest.mark.parametrize("backend", one_in(3, ["torch", "tensorflow", "xla"]))
def test_other_backends_hold_under_faults(backend, monkeypatch):
    pytest.importorskip(f"simstrategy_{backend}")
    monkeypatch.setattr(law, "FAULTS_MAX", 7 * 2 * 2)
    report = check(trained, backends=[backend])
    assert report.agrees, str(report)
