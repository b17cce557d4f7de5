"""The runs in which findings of a check show: which they are, at which event, and the page that plays them."""

import json
import re
from base64 import b64decode
from gzip import decompress

import numpy as np

import simstrategy as ss
from simstrategy.check.formats import as_page, played
from simstrategy.check.report import Report
from simstrategy.player.stops import events_of, stops_of

context = ss.get_replica_context


def rows_of(strategy, total=10, batch=4):
    numbers = ss.data.Dataset.from_tensor_slices(np.arange(total, dtype=np.float32)).batch(batch)
    return strategy.experimental_distribute_dataset(numbers)


def mean_of_means(strategy):
    def step(rows):
        return context().all_reduce("MEAN", context().xp.sum(rows) / max(rows.shape[0], 1))

    return [strategy.experimental_local_results(strategy.run(step, args=(rows,)))[0] for rows in rows_of(strategy)]


def diverges(strategy):
    with strategy.scope():
        kept = ss.Variable(np.float32(0), name="kept")

    def step():
        print("a step")  # noqa: T201 - what is printed has a place in the order too
        kept.assign(np.float32(context().replica_id_in_sync_group))

    strategy.run(step)
    return np.float32(1)


def raises(strategy):
    def step():
        if context().replica_id_in_sync_group:
            context().all_reduce("SUM", np.float32(1))

    strategy.run(step)
    return np.float32(1)


def order_matters(strategy):
    seen = []
    strategy.run(lambda: seen.append(context().replica_id_in_sync_group))
    return np.float32(seen[0])


def accumulates(strategy, pieces=1):
    total = sum(float(strategy.reduce("SUM", strategy.run(lambda: np.float32(1)), axis=None)) for _ in range(pieces))
    return np.float32(total / strategy.num_replicas_in_sync)


def data_of(page):
    """Returns the data of a page."""
    packed = re.search(r'id="recording">([^<]*)<', page)[1]
    return json.loads(decompress(b64decode(packed)))


def shown_event(found, number=0):
    place = found.places[number]
    return stop_of(found.runs[place.run], place.stop)


def stop_of(run, at):
    events = events_of(run.recording)
    return events[stops_of(events)[at].event]


def test_a_cause_opens_at_its_event_in_the_run_that_differs():
    report = ss.check(mean_of_means, replicas=[1, 2, 3])
    found = played(report)
    assert [run.name for run in found.runs] == ["1 replica", "3 replicas"]
    point = shown_event(found)
    assert (point.kind, point.op, point.step) == ("all_reduce", "MEAN", report.findings[0].step)
    assert point.sites[0] == report.findings[0].site
    assert found.runs[1].notes == {found.places[0].stop: report.findings[0].cause}


def test_the_run_that_others_are_compared_with_is_the_first_of_the_page(recwarn):
    def program(strategy):
        diverges(strategy)
        return np.float32(strategy.num_replicas_in_sync)

    report = ss.check(program, replicas=[1, 2], semantics=ss.Semantics.TF2)
    turned = Report(report.program, report.rows[::-1], record=report.record, folder=report.folder)
    assert [one.law for one in turned.findings] == ["state", "replicas"]
    for one, number in ((report, 1), (turned, 0)):
        found = played(one)
        assert [run.name for run in found.runs] == ["1 replica", "2 replicas"]
        assert [place.run for place in found.places] == [1, 1]
        assert shown_event(found, number).variable == "kept"


def test_prints_move_no_place_and_a_diverged_variable_opens_at_its_write(recwarn):
    found = played(ss.check(diverges, replicas=[2], semantics=ss.Semantics.TF2))
    write = shown_event(found)
    assert (write.operation, write.variable) == ("assign", "kept")
    assert [one.text for one in found.runs[0].recording.prints] == ["a step\n"] * 2


def test_a_program_that_raises_opens_at_the_error():
    found = played(ss.check(raises, replicas=[2]))
    assert shown_event(found).error[0] == "ReplicasDisagree"


def test_an_order_and_an_argument_that_change_the_result_are_runs_of_the_page():
    found = played(ss.check(order_matters, replicas=[3], laws=["order"]))
    assert [run.name for run in found.runs] == ["3 replicas", "3 replicas, Seeded(1)", "3 replicas, Seeded(2)"][
        : len(found.runs)
    ]
    assert found.places[0].run == 1
    found = played(ss.check(accumulates, replicas=[2], vary={"pieces": [1, 3]}, laws=["cut"]))
    assert [run.name for run in found.runs] == ["2 replicas", "2 replicas, pieces=3"]


def test_an_order_among_all_is_replayed():
    report = ss.check(order_matters, replicas=[2], schedules=[ss.schedules.Every(10)])
    found = played(report)
    assert [finding.law for finding in report.findings] == ["schedules"]
    assert [run.name for run in found.runs] == ["2 replicas", "2 replicas, another order"]
    first = [draw[2] for draw in found.runs[1].recording.draws]
    assert first[0] == 1


def test_the_page_has_a_link_to_each_event_and_opens_there():
    report = ss.check(mean_of_means, replicas=[1, 2, 3, 4])
    found = played(report)
    page = as_page(report, found)
    links = re.findall(r'<a href="#run=(\d+)&amp;at=(\d+)">', page)
    assert [(int(run) - 1, int(at) - 1) for run, at in links] == [place[:2] for place in found.places]
    data = data_of(page)
    assert data["start"] == {"run": found.places[0].run, "at": found.places[0].stop}
    assert 'class="verdict differ"' in page
    assert page.count("Content-Security-Policy") == 1


def test_a_check_that_agrees_or_has_no_run_to_show_has_a_page_without_a_script():
    agrees = ss.check(lambda strategy: np.float32(1), replicas=[1, 2])
    assert played(agrees) == ((), ())
    assert "<script" not in as_page(agrees, played(agrees))


def test_a_program_that_fails_when_it_is_recorded_is_stated_in_the_page():
    report = ss.check(mean_of_means, replicas=[1, 3])

    def record(way):
        raise OSError("no space")

    report.record = record
    found = played(report)
    assert "could not be made again: OSError" in found.places[0].left
    page = as_page(report, found)
    assert "Not shown below: The run could not be made again" in page
    assert "<script" not in page


def test_a_page_has_sixteen_runs_at_most():
    def differs(strategy):
        return np.float32(strategy.num_replicas_in_sync)

    found = played(ss.check(differs, replicas=[*range(1, 20)]))
    assert len(found.runs) == 16
    assert [place.left[:20] for place in found.places[15:]] == ["The page has 16 runs"] * 3


def test_rows_that_every_replica_draws_open_where_the_runs_differ():
    each = ss.InputOptions(experimental_replication_mode=ss.InputReplicationMode.PER_REPLICA)

    def all_rows(strategy):
        def rows(_):
            return ss.data.Dataset.from_tensor_slices(np.arange(12, dtype=np.float32)).batch(4)

        drawn = strategy.distribute_datasets_from_function(rows, each)
        return [strategy.reduce("SUM", strategy.run(np.sum, args=(part,)), axis=None) for part in drawn]

    report = ss.check(all_rows, replicas=[1, 2], same_on=["coverage"])
    found = played(report)
    assert [finding.law for finding in report.findings] == ["coverage"]
    assert [run.name for run in found.runs] == ["1 replica", "2 replicas"]
    assert (shown_event(found).kind, shown_event(found).op) == ("reduce", "SUM")
