"""The law of replicas: another number of replicas gives the same result.

Clauses: J-8, J-9, J-10, J-11, J-12, J-13
"""

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.check.exempt import name_of
from simstrategy.errors import InvalidArgument

ROWS = np.float32([[0.3, 1.5], [2.25, -0.7], [1.1, 0.4], [-3.0, 0.9], [0.2, 2.4], [1.7, -1.2], [0.6, 0.1]])


def ctx():
    return ss.get_replica_context()


def steps(strategy, batch=4):
    dataset = ss.data.Dataset.from_tensor_slices(ROWS).batch(batch)
    return strategy.experimental_distribute_dataset(dataset)


def add(x):
    return ctx().xp.sum(x)


def total(strategy):
    return [strategy.reduce("SUM", strategy.run(add, args=(x,)), axis=None) for x in steps(strategy)]


def mean_of_means(strategy):
    return [
        strategy.reduce("MEAN", strategy.run(lambda x: x[:1] * 0 + ctx().xp.sum(x), args=(x,)), axis=0)
        for x in steps(strategy)
    ]


def kept_per_replica(strategy):
    with strategy.scope():
        seen = ss.Variable(
            np.float32(0),
            synchronization=ss.VariableSynchronization.ON_READ,
            aggregation=ss.VariableAggregation.SUM,
            name="seen",
        )
    for x in steps(strategy):
        strategy.run(lambda x: seen.assign_add(ctx().xp.sum(x)), args=(x,))


def findings(program, replicas=(1, 2, 3), **settings):
    report = ss.check(program, replicas=replicas, **settings)
    return [(one.law, one.replicas, one.text.partition(";")[0]) for one in report.findings]


def test_a_sum_over_all_examples_agrees_and_the_last_line_states_what_was_compared():
    report = ss.check(total)
    assert report.agrees
    laws = [(row.law, row.replicas) for row in report.rows]
    assert laws[4:] == [("replicas", "2 against 1"), ("replicas", "3 against 1"), ("replicas", "4 against 1")]
    last = str(report).splitlines()[-1]
    assert last.startswith("All runs agree: 2 values; replicas 1, 2, 3, 4. Not tried: ")


def test_a_result_that_depends_on_the_replicas_differs_with_the_value_and_both_numbers():
    report = ss.check(mean_of_means, replicas=[1, 2])
    assert report.verdict == "differ"
    (finding,) = report.findings
    assert (finding.law, finding.replicas) == ("replicas", "2 against 1")
    assert "result[0]: " in finding.text
    assert "sim, replicas 2 against 1, InOrder(): result[0]" in str(report)


@pytest.mark.parametrize(
    ("names", "listed", "pattern"),
    [
        (["left/0", "left/1"], "left/0, left/1. No other value that was compared differs", "left/*"),
        (
            ["encoder.0.key.bias", "encoder.1.key.bias"],
            "1.key.bias. No other value that was compared differs: with '*.key.bias' exempt the others are judged",
            "*.key.bias",
        ),
        (
            ["left"],
            "No other value that was compared differs: with 'left' exempt the others are judged",
            "left",
        ),
    ],
)
def test_what_rounding_decides_is_listed_by_the_names_that_exempt_it(names, listed, pattern):
    rows = np.random.default_rng(4).normal(size=(61, 4)).astype(np.float32)
    exact = rows.astype(np.float64).sum()

    def program(strategy):
        (batch,) = strategy.experimental_distribute_dataset(ss.data.Dataset.from_tensor_slices(rows).batch(61))
        found = np.float64(strategy.reduce("SUM", strategy.run(add, args=(batch,)), axis=None))
        return {"sum": found} | {name: (found - exact) * (number + 1) for number, name in enumerate(names)}

    report = ss.check(program, replicas=[1, 3])
    assert report.verdict == "undecided", str(report)
    (text,) = report.undecided()
    assert listed in text
    report = ss.check(program, replicas=[1, 3], exempt={pattern: "rounding alone decides them"})
    assert report.agrees, str(report)


def test_the_law_can_be_left_out_and_what_remains_is_said():
    report = ss.check(mean_of_means, replicas=[1, 2], without=["replicas"])
    assert report.verdict == "undecided"
    assert "Nothing was compared with anything" in str(report)
    report = ss.check(mean_of_means, replicas=[1, 2], without=["replicas"], schedules=[lambda: ss.schedules.Seeded(1)])
    assert report.agrees
    last = str(report).splitlines()[-1]
    assert "replicas 1, 2, each alone" in last
    assert "Not tried: numbers of replicas against each other" in last


def test_one_number_of_replicas_is_no_agreement():
    report = ss.check(total, replicas=[3])
    assert report.verdict == "undecided"


def test_a_total_that_replicas_share_out_differently_is_compared_by_its_aggregate():
    report = ss.check(kept_per_replica)
    assert report.agrees, str(report)
    assert report.rows[-1].compared == 1


def test_a_program_that_returns_nothing_is_not_judged():
    report = ss.check(lambda strategy: None)
    assert report.verdict == "undecided"
    assert "nothing was compared: the program returned nothing" in str(report)


@pytest.mark.parametrize("each", [lambda s, r: r, lambda s, r: s.experimental_local_results(r)])
def test_a_value_of_each_replica_has_nothing_to_be_compared_with(each):
    def program(strategy):
        for x in steps(strategy):
            result = strategy.run(add, args=(x,))
        return {"own": each(strategy, result), "all": strategy.reduce("SUM", result, axis=None)}

    report = ss.check(program, replicas=[1, 3])
    assert report.agrees, str(report)
    assert report.rows[-1].compared == 1
    assert "Not compared: result['own']: each replica has a value of its own" in str(report)


@pytest.mark.parametrize("turns", [False, True])
def test_the_parts_of_one_array_are_compared_whatever_the_order_of_their_rows(turns):
    def program(strategy, factor=lambda: 1.0):
        count = strategy.num_replicas_in_sync

        def step():
            rank = ctx().replica_id_in_sync_group
            first, last = len(ROWS) * rank // count, len(ROWS) * (rank + 1) // count
            return ctx().xp.asarray(ROWS[rank::count] if turns else ROWS[first:last]) * np.float32(factor())

        return strategy.run(step)

    assert ss.check(program, replicas=[1, 2, 3]).agrees
    other = findings(lambda s: program(s, factor=lambda: 1.0 + ctx().replica_id_in_sync_group), replicas=[1, 2])
    assert [law for law, _, _ in other] == ["replicas"]


def test_the_number_of_replicas_itself_and_texts_with_it_are_not_compared():
    def program(strategy):
        count = strategy.num_replicas_in_sync
        return {"count": count, "text": f"on {count} replicas", "sum": total(strategy)}

    report = ss.check(program, replicas=[1, 2])
    assert report.agrees, str(report)
    assert "Not compared: result['count']: it is the number of replicas" in str(report)


def counter(strategy, batches, first=0, add=1):
    """Returns a sum, and has a variable that every replica adds to in each batch."""
    with strategy.scope():
        count = ss.Variable(np.int64(first), aggregation=ss.VariableAggregation.SUM, name="global_step")
    for _ in range(batches):
        strategy.run(lambda: count.assign_add(np.int64(add)))
    return total(strategy)


def test_a_variable_that_is_the_number_of_replicas_is_not_judged_and_more_steps_are():
    report = ss.check(lambda strategy: counter(strategy, 1), replicas=[1, 2, 3])
    assert report.verdict == "undecided"
    assert "variable 0 'global_step': it is the number of replicas. A counter that every replica adds to" in str(report)
    assert "NOT JUDGED: it is the number of replicas" in str(report)
    (found, _) = ss.check(lambda strategy: counter(strategy, 2), replicas=[1, 2, 3]).findings
    assert found.text.startswith("variable 0 'global_step': 4 against 2")


def test_a_variable_that_holds_the_number_of_replicas_on_purpose_is_exempt_by_its_name():
    def program(strategy):
        return counter(strategy, 1, first=strategy.num_replicas_in_sync, add=0)

    assert ss.check(program, replicas=[1, 2]).verdict == "undecided"
    assert ss.check(program, replicas=[1, 2], exempt={"global_step": "the number that the rate is of"}).agrees
    assert ss.check(lambda strategy: counter(strategy, 1, first=7, add=0), replicas=[1, 2]).agrees


def test_values_that_depend_on_the_replicas_own_seeds_are_not_judged_and_others_are():
    def program(strategy, scale=1.0):
        def step(x):
            noise = np.random.default_rng(ctx().seed("noise")).normal(size=x.shape).astype(np.float32)
            return ctx().xp.sum(x + noise)

        noisy = [strategy.reduce("SUM", strategy.run(step, args=(x,)), axis=None) for x in steps(strategy)]
        plain = [value * np.float32(scale) for value in total(strategy)]
        return {"noisy": noisy, "plain": plain}

    report = ss.check(program, replicas=[1, 2])
    assert report.verdict == "undecided"
    assert "it depends on numbers that each replica draws for itself ('noise')" in str(report)
    wrong = ss.check(lambda s: program(s, scale=s.num_replicas_in_sync), replicas=[1, 2])
    assert [finding.text.partition(":")[0] for finding in wrong.findings] == ["result['plain'][0]"]
    exempt = ss.check(program, replicas=[1, 2], exempt={"noisy": "drawn by each replica"})
    assert exempt.agrees
    assert "Exempt: result['noisy'][0]: drawn by each replica" in str(exempt)


def test_a_program_may_exempt_a_value_itself_and_backends_compare_it_all_the_same(wrong):
    def program(strategy):
        drawn = np.float32(strategy.num_replicas_in_sync)
        return {"drawn": ss.exempt([drawn], reason="one for each replica"), "sum": total(strategy)}

    assert ss.check(program, replicas=[1, 2]).agrees
    calls = iter(range(100))
    report = ss.check(
        lambda s: ss.exempt(np.float32(next(calls)), reason="whatever"), replicas=[2], schedules=[ss.schedules.InOrder]
    )
    assert "gives different values in two identical runs" in str(report)


def test_an_error_on_some_numbers_of_replicas_only_is_a_difference():
    def program(strategy):
        if strategy.num_replicas_in_sync == 3:
            raise ValueError("three")
        return total(strategy)

    report = ss.check(program, replicas=[1, 2, 3])
    assert [finding.replicas for finding in report.findings] == ["3"]
    report = ss.check(program, replicas=[1, 2, 3], allow_errors=True)
    (finding,) = report.findings
    assert finding.text == (
        "whether it raises depends on the replicas: with 1 replica it gives a result, with 3 replicas it raises "
        "ValueError"
    )


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"laws": ["nothing"]}, "There is no law 'nothing': choose from replicas"),
        ({"without": ["nothing"]}, "There is no law 'nothing'"),
        ({"exempt": {"other": "why"}}, "The exemption 'other' names no value of this program: it has 0, 1"),
        ({"exempt": {"0": " "}}, "State why the value may differ"),
        ({"require": ["luck"]}, "'luck' is none of replicas, uneven"),
    ],
)
def test_a_setting_that_names_nothing_is_an_error(settings, text):
    with pytest.raises(InvalidArgument) as raised:
        ss.check(total, replicas=[1, 2], **settings)
    assert text in str(raised.value)


def test_what_is_required_and_was_not_tried_is_not_judged():
    report = ss.check(total, replicas=[1, 2], require=["schedules"])
    assert report.verdict == "undecided"
    assert "required, and not tried: One order of the replicas was run" in str(report)
    schedules = [ss.schedules.InOrder, lambda: ss.schedules.Seeded(3)]
    assert ss.check(total, replicas=[1, 2], require=["schedules"], schedules=schedules).agrees


@pytest.mark.parametrize(
    ("replicas", "batch", "missing"),
    [([1, 2], 4, ["empty"]), ([1, 4], 5, []), ([1, 7], 7, ["uneven", "empty"]), ([1, 2], 7, ["empty"])],
)
def test_parts_that_were_not_tried_are_named(replicas, batch, missing):
    def program(strategy):
        return [strategy.reduce("SUM", strategy.run(add, args=(x,)), axis=None) for x in steps(strategy, batch)]

    report = ss.check(program, replicas=replicas)
    assert [remark.word for remark in report.not_tried if remark.word in ("uneven", "empty")] == missing
    assert ss.check(program, replicas=replicas, require=["uneven"]).agrees == ("uneven" not in missing)
    assert ss.check(program, replicas=replicas, require=["empty"]).agrees == ("empty" not in missing)


def test_a_sum_of_mixed_magnitudes_is_not_accused():
    values = np.float32([1e8, 1.0, -1e8, 1.0, 3.0, -2e7, 2e7, 0.5])

    def program(strategy):
        dataset = ss.data.Dataset.from_tensor_slices(values).batch(8)
        (batch,) = strategy.experimental_distribute_dataset(dataset)
        return strategy.run(lambda x: ctx().all_reduce("SUM", ctx().xp.sum(x)), args=(batch,))

    assert ss.check(program).findings == ()


def test_names_of_paths():
    assert name_of("result") == ""
    assert name_of("result[2].loss['a/b']") == "2/loss/a/b"
    assert name_of("variable 12 'w: 3'") == "w: 3"
