"""Kinds of a script's line that show on one replica alone, or in what objects count; and what is near them.

Clauses: G-85, G-86, G-87, G-88, G-90, G-91, G-92.
"""

import itertools

import numpy as np
import pytest

from simstrategy.check.causes.facts import Cause, StepFacts
from simstrategy.check.causes.held import Held, Traced
from simstrategy.check.causes.lines import Sides, with_lines
from simstrategy.check.causes.rates import by_rate, rates_apart
from simstrategy.check.causes.ways import ways_apart

UNKNOWN = Cause(None, None, None, None, None, "The cause is not recognised: no step.", certain=False)


def held(line, name, *values, frame=1, attribute=""):
    leaves = tuple(np.asarray(value) for value in values)
    return Held(f"train.py:{line}", (), name, attribute, leaves, "", 1, frame, is_graded=False)


def sent(line, frame=1):
    return Held(f"train.py:{line}", (), "broadcast", "", (), "broadcast", 1, frame, is_graded=False)


def explained(reference, other, who=None):
    traced = [Traced(tuple(map(tuple, run))) for run in (reference, other)]
    return with_lines(UNKNOWN, Sides(*traced, (), (), (len(reference), len(other)), who, ()))


def decision(*own, shared, lines=(11, 11), before=()):
    """Returns a run in which each replica computes a value, and a broadcast replaces it."""
    return [
        [*before, held(line, "flag", one), sent(12), held(12, "flag", shared), held(20, "weight", [np.nan, shared])]
        for one, line in zip(own, lines, strict=False)
    ]


ALONE = decision(1.0, shared=1.0)


@pytest.mark.parametrize(
    ("own", "reference", "rule"),
    [((0.0, 1.0), 1.0, "largest"), ((1.0, 0.0), 0.0, "smallest"), ((2.0, 4.0), 3.0, "mean"), ((2.0, 4.0), 6.0, "sum")],
)
def test_a_value_of_one_replica_that_a_broadcast_gives_to_all_is_named_with_what_all_give(own, reference, rule):
    cause = explained(decision(reference, shared=reference), decision(*own, shared=own[0]))
    assert (cause.kind, cause.site) == ("written by one replica only", "train.py:12")
    assert "replica 0's own value, which a broadcast gives to all replicas, though they have computed" in cause.text
    assert f"The {rule} of all replicas' is the reference's" in cause.text


@pytest.mark.parametrize(
    "other",
    [
        decision(0.0, 0.0, shared=0.0),  # all replicas have decided alike: it is not the broadcast
        decision(0.0, 1.0, shared=0.0, lines=(11, 15)),  # a place for what is received, which is not computed alike
        decision(0.0, 5.0, shared=0.0),  # no rule gives the reference's
        decision(0.0, 1.0, shared=0.5),  # none of them is what was sent
        decision(0.0, 1.0, shared=0.0, before=[held(3, "rows", [5.0, 6.0])]),  # values differ before
        [[one for one in values if one.name != "broadcast"] for values in decision(0.0, 1.0, shared=0.0)],
    ],
)
def test_what_a_broadcast_does_not_explain_is_not_written_by_one_replica(other):
    reference = [[held(3, "rows", [1.0, 2.0]), *ALONE[0]]]
    other = [values if values[0].name == "rows" else [held(3, "rows", [1.0, 2.0]), *values] for values in other]
    assert explained(reference, other).kind != "written by one replica only"


def test_a_seed_that_a_broadcast_makes_equal_is_lawful():
    cause = explained(decision(1.0, shared=1.0), decision(1.0, 7.0, shared=1.0))
    assert cause.kind != "written by one replica only"


def metered(*sizes, sums=(8.0, 3.0), counts=None):
    """Returns a run of an object that counts: the means of two keys, added over the replicas and divided by them."""
    values = np.float64([1.0, 2.0, 6.0])
    run, bounds = [], np.cumsum([0, *sizes])
    means = [values[first:last].mean() for first, last in itertools.pairwise(bounds)]
    for rank in range(len(sizes)):
        shown = sizes[rank] if counts is None else counts[rank]
        run.append(
            [
                held(5, "self.count", 4, shown, frame=2, attribute="Meter.count"),
                held(8, "local", means[rank], frame=3),
                held(9, "value", sum(means), frame=4),
                held(10, "mean()", sum(means) / len(sizes), frame=4),
            ]
        )
    return run


def test_counts_that_an_object_keeps_prove_a_mean_over_unequal_parts():
    cause = explained(metered(3), metered(2, 1))
    assert (cause.kind, cause.site) == ("mean of means", "train.py:8")
    assert "'Meter.count' counts 2, 1 there" in cause.text


@pytest.mark.parametrize("counts", [(2, 2), (4, 2), (1, 2)], ids=["equal", "more than there are", "of another part"])
def test_counts_that_are_not_those_of_the_parts_prove_nothing(counts):
    assert explained(metered(3), metered(2, 1, counts=counts)).kind != "mean of means"


def test_a_sum_that_is_divided_in_the_same_call_is_not_where_the_difference_begins():
    def run(*lasts):
        return [
            [
                *[held(9, "value", len(lasts) * 2.0, frame=4), held(10, "mean()", 2.0, frame=4)],
                *[held(8, "local", last, frame=5), held(9, "value", sum(lasts), frame=6)],
                held(10, "mean()", sum(lasts) / len(lasts), frame=6),
            ]
            for last in lasts
        ]

    assert explained(run(5.0), run(3.0, 4.0)).site == "train.py:8"
    assert explained(run(5.0), run(5.0, 5.0)).site in (None, "train.py:9")  # all sums are divided: none is wrong


def stopped(*ranks, entered=2):
    """Returns a run that reads twice, or once.  ranks: what an attribute of each is at the last entry."""
    run = []
    for restored in ranks:
        first = [held(15, "self.taken", 0, frame=2, attribute="Stream.taken")]
        first += [held(28, "read()", 1.0, frame=3), held(29, "self.taken", 6, frame=3, attribute="Stream.taken")]
        again = [held(15, "self.taken", 0, frame=5, attribute="Stream.taken")] if entered > 1 else []
        again += [held(23, "self.taken", restored, frame=6, attribute="Stream.taken")] if restored else []
        again += [held(25, "until", 16, frame=7), held(28, "read()", 7.0, frame=7)] if entered > 1 else []
        run.append([*first, *again])
    return run


WHO = ("stop=0", "stop=6")
WHOLE = stopped(0, 0, entered=1)


def test_a_replica_that_begins_anew_where_another_restores_is_named_with_the_line_that_restores():
    cause = explained(WHOLE, stopped(6, 0), WHO)
    assert (cause.kind, cause.site) == ("not restored at a resume", "train.py:23")
    assert "Replica 0 restores self.taken at train.py:23 as the stop left it (6)" in cause.text
    assert "replica 1 begins anew with 0" in cause.text


def test_replicas_that_all_restore_or_that_have_values_of_their_own_are_not_named():
    assert "begins anew" not in explained(WHOLE, stopped(6, 6), WHO).text
    # Replica 1 of the reference never comes to what replica 0 restores: it is replica 0's own, as the best loss is.
    own = [WHOLE[0], [one for one in WHOLE[1] if one.leaves[0] != 6]]
    assert "begins anew" not in explained(own, stopped(6, 0), WHO).text
    assert "begins anew" not in explained(WHOLE, stopped(5, 0), WHO).text  # it is not what the stop left


def partitioned(steps, *, wrong):
    """Returns a run of two replicas that add the gradients of two parameters, each replica those of its own."""
    shares = np.float64([[1.0, 2.0, -1.0], [0.5, -3.0, 4.0], [2.0, 2.0, 1.5]])
    cut = [shares.sum(0)] if steps == 1 else [*shares]
    run = []
    for rank in range(2):
        sums, values = [np.zeros(3), np.zeros(3)], []
        for turn in cut:
            for index in range(2):
                share = turn * (index + 1) * (rank + 2)
                is_lost = wrong and index % 2 != rank
                sums[index] = share if is_lost else sums[index] + share
                values += [held(19, "gradient", share), held(21, "self.sums", *sums, attribute="Partitioned.sums")]
        run.append(values)
    return run


def test_turns_that_a_replica_loses_of_the_sums_that_it_does_not_own_are_named():
    cause = explained(partitioned(1, wrong=True), partitioned(3, wrong=True), ("steps=1", "steps=3"))
    assert (cause.kind, cause.site) == ("lost part", "train.py:21")
    assert "only the last of the 3 values that 'gradient' gets at train.py:19 counts in it" in cause.text


def test_sums_of_all_turns_and_other_differences_lose_none():
    who = ("steps=1", "steps=3")
    assert explained(partitioned(1, wrong=False), partitioned(3, wrong=False), who).kind is None
    scaled = [
        [one._replace(leaves=tuple(leaf * 1.5 for leaf in one.leaves)) if one.attribute else one for one in values]
        for values in partitioned(3, wrong=False)
    ]
    assert explained(partitioned(1, wrong=False), scaled, who).kind != "lost part"


SCORES = np.array([0.1, 0.2, 0.3, 0.4])


def scored(scores, labels, error):
    gathered = [held(5, "scores", scores), held(6, "labels", labels)]
    return [held(3, "gather()", scores, frame=2), *gathered, held(7, "error", error)]


def test_rows_in_another_order_beside_rows_that_are_not_are_named_where_they_are_first_held():
    """Clause: G-90."""
    labels = np.array([0.0, 1.0, 1.0, 0.0])
    cause = explained([scored(SCORES, labels, 0.375)], [scored(SCORES[[0, 2, 1, 3]], labels, 0.425)] * 2)
    assert (cause.kind, cause.source) == ("order or axis", "train.py:3")
    assert "'scores' in another order than the reference, and the rows of 'labels'" in cause.text


@pytest.mark.parametrize("labels", [[0.0, 1.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0, 1.0], [1.0, 1.0, 1.0, 1.0]])
def test_rows_in_another_order_are_no_cause_where_nothing_stands_beside_them_in_the_references(labels):
    """The rows beside them are in the same other order, are not as many, or are all the same.  Clause: G-90."""
    order = [0, 2, 1, 3] if len(labels) == 4 else [0, 1, 2, 3, 4]
    other = scored(SCORES[[0, 2, 1, 3]], np.array(labels)[order] if labels[0] == 0.0 else np.array(labels), 0.425)
    if labels == [0.0, 1.0, 1.0, 0.0]:
        labels, other[2] = [0.0, 1.0, 0.0, 1.0], held(6, "labels", [0.0, 0.0, 1.0, 1.0])
    cause = explained([scored(SCORES, np.array(labels), 0.375)], [other] * 2)
    assert (cause.kind, cause.source) == (None, "train.py:7")


def test_rates_that_replicas_set_apart_are_named_with_the_later_line():
    """Clause: G-91."""

    def rate(line, value, step):
        return held(line, "optimizer.lr", value, attribute="SGD.lr")._replace(step=step)

    run = [[rate(3, 0.1, 1), rate(9, 0.05, 2)], [rate(3, 0.1, 1)]]
    for values, place in ((run, 0), (run[::-1], 1)):
        fault = rates_apart(values, 2)
        assert (fault.one.site, fault.finding.kind) == ("train.py:9", "other learning rate")
        assert fault.one is values[place][1]
    assert rates_apart(run, 1) is None
    assert rates_apart([run[0], []], 2) is None
    one = StepFacts(2, "train.py:8", "train.py:7", ("w",), *[((np.ones(3),),) * 2] * 4)
    cause = ways_apart(Traced(tuple(map(tuple, run))), [one._replace(after=((np.zeros(3),), (np.ones(3),)))])
    assert (cause.kind, cause.source) == ("other learning rate", "train.py:9")


@pytest.mark.parametrize("name", ["seen", "world"])
def test_what_a_schedule_counts_is_named_beside_the_rate(name):
    """What does not change during the run, such as the number of replicas, is not named.  Clause: G-91."""

    def run(count):
        step = int(name == "seen") * count
        made = [held(3, "world", 2 if count == 6 else 1), held(5, name, count)]
        rate = held(7, "opt.lr", count / 100, attribute="SGD.lr")
        others = [held(4, "empty", np.zeros(0)), held(4, "empty", float(count)), held(6, "complex", count * 1j)]
        return [*made, *others, *(one._replace(step=2) for one in (rate, held(5, name, count + step)))]

    found = by_rate([run(12)], [run(6)] * 2, 2)
    assert (found.one.site, found.finding.kind) == ("train.py:7", "other learning rate")
    counted = ". 'seen' at train.py:5 is 6 then, and 12 in the reference" if name == "seen" else ""
    assert found.finding.reason == f"the learning rate of step 2 is 0.06, and 0.12 in the reference{counted}"


LOSSES = np.array([[2.5, 0.5], [1.5, 1.0]])


def numbers(values):
    return [held(7, "number", one) for one in values]


@pytest.mark.parametrize("function", [np.exp, np.log, np.cbrt, np.sqrt, np.square, np.reciprocal])
@pytest.mark.parametrize("rule", [np.mean, np.sum])
def test_a_function_of_each_replicas_own_value_is_named(function, rule):
    """Clause: G-92."""
    runs = [numbers(function(rule(LOSSES, axis=0)))], [numbers(function(one)) for one in LOSSES]
    kinds = {np.cbrt: None}
    # The root of a sum is the norm of the parts, which has a kind of its own.
    if (function, rule) != (np.sqrt, np.sum):
        assert explained(*runs).kind == kinds.get(function, "function before the sum")
    assert explained(runs[0], [numbers(function(one) * 1.001) for one in LOSSES]).kind is None


def test_one_number_or_the_same_on_all_replicas_shows_no_function():
    """Clause: G-92."""
    assert explained([numbers(np.exp([2.0]))], [numbers(np.exp([2.5])), numbers(np.exp([1.5]))]).kind is None
    assert explained([numbers(np.exp([2.0, 1.0]))], [numbers(np.exp([2.5, 1.5]))] * 2).kind is None
