"""Causes of points by hand: what decides a kind, what leaves it open, and what is passed over.

Clauses: J-20, J-21, J-22, J-23, J-24, J-25, J-26, J-27, J-29, J-100
"""

import numpy as np
import pytest
from by_hand import kept, point, rows

from simstrategy.check.causes import PointFacts, explain
from simstrategy.check.causes.alignment import paired
from simstrategy.check.causes.facts import (
    BATCH_GROWS,
    CLIPPING,
    DIVIDED,
    DUPLICATED,
    FACTOR,
    FUNCTION,
    MEAN_OF_MEANS,
    MISSING_SAMPLES,
    NORMS_AGAIN,
    ONE_REPLICA,
    ORDER,
    OTHER_BATCHES,
    ROOT,
    SCALED,
    STATISTICS,
    STEPS_COUNTED,
    SUM_OF_MEANS,
    SUMMED,
)
from simstrategy.check.causes.links import Link, link

A, B, C = rows(0.31, -1.7, 2.2), rows(1.13, 0.4, -0.9), rows(-0.7, 0.25, 1.9)


def weighted(*pairs: tuple[float, np.ndarray]) -> np.ndarray:
    return np.asarray(sum(np.float64(weight) * array for weight, array in pairs), np.float32)


def test_runs_that_agree_have_no_cause() -> None:
    """J-20"""
    cause = explain([point(A + B)], [point(A, B)], counts=(1, 2))
    assert (cause.kind, cause.step, cause.site, cause.certain) == (None, None, None, False)
    assert explain([], [], counts=(1, 2)).text.endswith("no synchronisation point that could be compared.")


def test_a_difference_of_rounding_is_none() -> None:
    """J-20"""
    nearly = np.nextafter(A + B, rows(9, 9, 9))
    assert explain([point(nearly)], [point(A, B)], counts=(1, 2)).step is None
    coarse = [[1e-3]]
    assert explain([point((A + B) * 1.001)], [point(A, B)], units=coarse, counts=(1, 2)).step is None
    assert explain([point((A + B) * 1.1)], [point(A, B)], units=coarse, counts=(1, 2)).step == 1


def test_the_first_point_that_differs_is_named_with_its_step_and_line() -> None:
    """J-21"""
    reference = [point(A + B), point(A, step=2), point(B, step=2, line=40)]
    other = [point(A, B), point(A, A, step=2), point(B, B, step=2, line=40)]
    cause = explain(reference, other, counts=(1, 2))
    assert (cause.step, cause.site, cause.kind, cause.factor) == (2, "train.py:31", SUMMED, 2.0)
    assert "in step 2, all_reduce SUM of 'w' at train.py:31 differs first" in cause.text


def test_a_difference_that_the_program_makes_up_for_is_passed_over() -> None:
    """J-21: the loss differs by the number of replicas and is divided by it; the weights follow from the gradient."""
    reference = [point(rows(0.7), line=20, subject="loss"), point(A), kept(0.1 * A)]
    half = weighted((0.25, A))
    other = [point(rows(0.7), rows(0.7), line=20, subject="loss"), point(half, half), kept(0.05 * A, replicas=2)]
    cause = explain(reference, other, counts=(1, 2))
    assert (cause.site, cause.kind, cause.factor) == ("train.py:31", DIVIDED, 0.5)
    assert "division too many" in cause.text


def test_a_mean_of_means_that_is_summed_first_is_none_of_sums() -> None:
    """J-21, J-22: the sum is divided by the replicas where it is written."""
    whole = weighted((4 / 7, A), (3 / 7, B))
    reference = [point(whole, parts=(7,)), kept(0.1 * whole)]
    other = [point(A, B, parts=(4, 3)), kept(0.05 * (A + B), replicas=2)]
    cause = explain(reference, other, counts=(1, 2))
    assert (cause.kind, cause.site, cause.also) == (MEAN_OF_MEANS, "train.py:31", ())
    assert "parts of 4 and 3 examples weigh the same" in cause.text


def test_a_difference_without_an_effect_is_no_cause() -> None:
    """J-21"""
    cause = explain([point(A), kept(B)], [point(A, A), kept(B, replicas=2)], counts=(1, 2))
    assert (cause.kind, cause.step) == (None, None)


def test_several_points_that_may_be_meant_have_no_kind() -> None:
    """J-21: an optimizer that is not linear hides which of two gradients was wrong."""
    reference = [point(A, line=20), point(B, line=21), kept(rows(0.1, 0.2))]
    other = [point(A, A, line=20), point(B, B, line=21), kept(rows(0.3, 0.9), replicas=2)]
    cause = explain(reference, other, counts=(1, 2))
    assert (cause.kind, cause.certain) == (None, False)
    assert "Which of several values" in cause.text


def test_shares_as_weights_show_means_of_unequal_parts() -> None:
    """J-22"""
    whole = weighted((0.5, A), (0.25, B), (0.25, C))
    known = {"parts": (4, 2, 2)}
    mean = explain([point(whole, parts=(8,))], [point(A, B, C, op="MEAN", **known)], counts=(1, 3))
    total = explain([point(whole, parts=(8,))], [point(A, B, C, **known)], counts=(1, 3))
    assert (mean.kind, total.kind) == (MEAN_OF_MEANS, SUM_OF_MEANS)
    assert "parts of 4, 2 and 2 examples" in mean.text


def test_sizes_that_are_not_recorded_are_found_from_the_values() -> None:
    """J-22"""
    whole = weighted((8 / 15, A), (7 / 15, B))
    cause = explain([point(whole)], [point(A, B, op="MEAN")], counts=(1, 2))
    assert cause.kind == MEAN_OF_MEANS
    assert "whose sizes are as 8 and 7" in cause.text
    number = explain([point(whole[:1])], [point(A[:1], B[:1], op="MEAN")], counts=(1, 2))
    assert number.kind is None  # one number fits any weights


def test_equal_parts_are_no_mean_of_means() -> None:
    """J-22"""
    cause = explain([point(C, parts=(8,))], [point(A, B, op="MEAN", parts=(4, 4))], counts=(1, 2))
    assert (cause.kind, cause.step) == (None, 1)
    assert "parts" not in cause.text.replace("the sizes of the parts explain", "")


@pytest.mark.parametrize(
    ("factor", "kind", "text"),
    [
        (1 / 3, DIVIDED, "divided by the number of replicas once too often"),
        (1 / 9, FACTOR, "divided by the number of replicas twice too often"),
        (9.0, FACTOR, "multiplied by the number of replicas twice too often"),
        (3**0.5, ROOT, "the square root of the number of replicas"),
        (3**-0.5, ROOT, "1 / the square root of the number of replicas"),
    ],
)
def test_a_factor_that_is_a_power_of_the_number_of_replicas_is_named(factor: float, kind: str, text: str) -> None:
    """J-23"""
    whole = weighted((1 / 3, A), (1 / 3, B), (1 / 3, C))
    terms = [np.asarray(factor * one / 3, np.float32) for one in (A, B, C)]
    cause = explain([point(whole)], [point(*terms)], counts=(1, 3))
    assert cause.kind == kind
    assert cause.factor == pytest.approx(factor, rel=1e-5)
    assert text in cause.text


@pytest.mark.parametrize(("factor", "size"), [(2.0, "2"), (0.5, "1/2")])
def test_a_factor_that_may_be_a_root_or_a_constant_is_called_neither(factor: float, size: str) -> None:
    """J-23: with 4 replicas 2 is their root, the size of a group of them, and 2."""
    terms = [np.asarray(factor * one / 4, np.float32) for one in (A, B, C, A)]
    cause = explain([point(weighted((1 / 4, A), (1 / 4, B), (1 / 4, C), (1 / 4, A)))], [point(*terms)], counts=(1, 4))
    assert (cause.kind, cause.also) == (FACTOR, (ROOT, NORMS_AGAIN))
    assert f"it may as well be {size} whatever their number, or that of groups of 2 replicas" in cause.text
    assert "Runs with another number of replicas, such as 2 or 3, distinguish these." in cause.text


def test_a_factor_that_coarse_rounding_moves_has_the_kind_of_its_name() -> None:
    """J-23: in bfloat16 the number of replicas is 1.9977, and one factor has one name and one kind."""
    whole = weighted((1 / 2, A), (1 / 2, B))
    terms = [np.asarray(1.9977 * one / 2, np.float32) for one in (A, B)]
    cause = explain([point(whole)], [point(*terms)], units=[[0.02]], counts=(1, 2))
    assert "(the number of replicas)" in cause.text
    assert cause.kind != FACTOR, cause.text


def test_a_factor_with_two_names_is_given_with_both() -> None:
    """J-23: 2 replicas, 2 steps."""
    reference = [point(A), point(B, step=2)]
    cause = explain(reference, [point(A, A), point(B, B, step=2)], counts=(1, 2))
    assert "the number of replicas, and also the number of steps" in cause.text


def test_a_factor_without_a_name_has_no_kind() -> None:
    """J-23"""
    cause = explain([point(A)], [point(A * np.float32(0.4), A * np.float32(0.3))], counts=(1, 2))
    assert (cause.kind, cause.factor) == (None, None)
    assert "0.7 times the expected ones, which is no number of replicas, steps or parts" in cause.text


def test_small_integers_are_no_factor_by_chance() -> None:
    """J-23"""
    cause = explain([point(rows(2.0))], [point(rows(3.0), rows(1.0))], counts=(1, 2))
    assert cause.kind == SUM_OF_MEANS  # their mean is the reference's
    assert explain([kept(2.0)], [kept(4.0, replicas=2)], counts=(1, 2)).kind is None


def test_whole_values_that_are_added_may_be_duplicates_too() -> None:
    """J-23, J-24"""
    cause = explain([point(A)], [point(A, A)], counts=(1, 2))
    assert (cause.kind, cause.also) == (SUMMED, (DUPLICATED,))
    again = explain([point(A), point(A, line=40)], [point(A / 2, A / 2), point(A, A, line=40)], counts=(1, 2))
    assert (again.kind, again.also) == (SUMMED, ())
    assert "holds what was combined at train.py:31" in again.text


@pytest.mark.parametrize(
    ("parts", "kind"),
    [
        ((("a", "b"), ("a", "b")), DUPLICATED),
        ((("a", "b"), ("b",)), DUPLICATED),
        ((("a", "b"), ("c",)), MISSING_SAMPLES),
        ((("a", "b"), ("e", "f")), OTHER_BATCHES),
        ((("a", "b"), ("x", "y")), None),
    ],
)
def test_examples_are_compared_by_their_bytes(parts: tuple[tuple[str, ...], ...], kind: str | None) -> None:
    """J-24: the reference has e and f in its next step, and never x and y."""
    reference = [
        point(A, parts=(4,), rows=(("a", "b", "c", "d"),)),
        point(B, step=2, parts=(2,), rows=(("e", "f"),)),
    ]
    sizes = tuple([len(part) for part in parts])
    cause = explain(reference, [point(B, C, parts=sizes, rows=parts)], counts=(1, 2))
    assert cause.kind == kind


def test_the_parts_of_another_step_are_not_mentioned() -> None:
    """J-24: draws of each replica in step 1; step 2 has a partial batch."""
    reference = [point(A, parts=(8,)), point(B, step=2, parts=(7,))]
    other = [point(B, C, parts=(4, 4)), point(C, C, step=2, parts=(4, 3))]
    cause = explain(reference, other, counts=(1, 2))
    assert (cause.step, cause.kind) == (1, None)
    assert "4" not in cause.text.partition("differs first")[2].partition("The kind")[2]


def test_norms_at_one_bound_show_clipping() -> None:
    """J-25"""
    first, second = [one / np.linalg.norm(one) * np.float32(0.5) for one in (A, B)]
    cause = explain([point(C)], [point(first, second)], counts=(1, 2))
    assert cause.kind == CLIPPING
    assert "to a norm of 0.5 before" in cause.text
    assert explain([point(C)], [point(first, second * 2)], counts=(1, 2)).kind is None
    alike = explain([point(C)], [point(first, first * np.float32(-1), C / 7)], counts=(1, 3))
    assert alike.kind is None  # one direction


@pytest.mark.parametrize(
    ("line", "loss", "shown"),
    [(40, [1.5, 0.25], "set of values at this line"), (31, 1.5, "set of arrays of a step")],
    ids=["on another line", "a single number"],
)
def test_gradients_of_one_norm_show_clipping_beside_a_loss(line: int, loss: object, shown: str) -> None:
    """J-25: the norm of all gradients of a replica is 0.5, and that of none of them alone."""
    both = [np.concatenate(pair) for pair in ((A, B), (B, C))]
    first, second = [one / np.linalg.norm(one) * np.float32(0.5) for one in both]
    sets = [point(first[:3], second[:3], subject="w"), point(first[3:], second[3:], subject="b")]
    losses = point(loss, np.asarray(loss) * 2, line=line, subject="loss")
    reference = [point(C, subject="w"), point(A, subject="b"), point(loss, line=line, subject="loss")]
    cause = explain(reference, [*sets, losses], counts=(1, 2))
    assert cause.kind == CLIPPING
    assert f"each replica's {shown} is clipped, or scaled, to a norm of 0.5 before" in cause.text
    longer = point(first[3:], second[3:] * np.float32(1.1), subject="b")
    assert explain(reference, [sets[0], longer, losses], counts=(1, 2)).kind is None


def test_counts_of_equal_norm_are_no_clipping() -> None:
    """J-25"""
    cause = explain([point(rows(1, 1, 1))], [point(rows(1, 0, 0), rows(0, 1, 0))], counts=(1, 2))
    assert cause.kind is None


def test_variances_that_fall_short_by_the_variance_of_means_show_statistics() -> None:
    """J-26"""
    data = np.random.default_rng(0).normal(size=(8, 5)).astype(np.float32)
    halves = data[:4], data[4:]
    mean = point(data.mean(0)), point(*[half.mean(0) for half in halves], op="MEAN")
    variance = (
        point(data.var(0), line=40, subject="variance"),
        point(*[half.var(0) for half in halves], op="MEAN", line=40, subject="variance"),
    )
    cause = explain([mean[0], variance[0]], [mean[1], variance[1]], counts=(1, 2))
    assert (cause.kind, cause.site) == (STATISTICS, "train.py:40")
    unrelated = point(*[half.max(0) for half in halves], op="MEAN")
    assert explain([mean[0], variance[0]], [unrelated, variance[1]], counts=(1, 2)).kind is None


def test_rows_that_are_standardised_in_each_part_show_statistics() -> None:
    """J-26"""
    data = np.random.default_rng(0).normal(size=(8, 2)).astype(np.float32)

    def gathered(*parts: np.ndarray) -> PointFacts:
        made = [((part - part.mean(0)) / part.std(0)).astype(np.float32) for part in parts]
        inputs = tuple([(one,) for one in made])
        return PointFacts(1, "train.py:9", "all_gather", None, None, inputs, (np.concatenate(made),))

    cause = explain([gathered(data)], [gathered(data[:4], data[4:])], counts=(1, 2))
    assert cause.kind == STATISTICS


def test_one_replicas_value_in_place_of_the_sum_is_written_by_one_only() -> None:
    """J-27"""

    def write(value: np.ndarray, *terms: np.ndarray, op: str | None = None) -> PointFacts:
        inputs = tuple([(one,) for one in terms])
        return PointFacts(1, "train.py:7", "assign", "w", op, inputs, (value,), kept=True)

    cause = explain([write(A + B, A + B)], [write(A, A, B)], counts=(1, 2))
    assert cause.kind == ONE_REPLICA
    assert "their sum gives the reference's result" in cause.text
    assert explain([write(C, C)], [write(A, A, B)], counts=(1, 2)).kind is None
    only = explain([write(C, C)], [write(A, A, B, op="ONLY_FIRST_REPLICA")], counts=(1, 2))
    assert only.kind == ONE_REPLICA


@pytest.mark.parametrize(
    ("whole", "name"),
    [
        (np.sqrt(A**2 + B**2), "the sum of the squares"),
        (np.log((np.exp(A) + np.exp(B)) / 2), "the mean of the exponentials"),
        (np.maximum(A, B), "is the maximum of the replicas' values"),
    ],
)
def test_a_function_before_the_sum_is_named(whole: np.ndarray, name: str) -> None:
    """J-27"""
    cause = explain([point(np.abs(whole) if "squares" in name else whole)], [point(A, B)], counts=(1, 2))
    assert cause.kind == FUNCTION
    assert name in cause.text


def test_elements_in_other_places_are_an_order() -> None:
    """J-27"""
    data = np.arange(12, dtype=np.float32).reshape(6, 2)
    inputs = (data[:3],), (data[3:],)
    whole = PointFacts(1, "train.py:5", "all_gather", None, None, ((data,),), (data,))
    mixed = whole._replace(inputs=inputs, outputs=(data[[0, 3, 1, 4, 2, 5]],))
    beside = whole._replace(inputs=inputs, outputs=(np.concatenate([data[:3], data[3:]], axis=1),), kept=True)
    assert explain([whole], [mixed], counts=(1, 2)).kind == ORDER
    cause = explain([whole._replace(kept=True)], [beside], counts=(1, 2))
    assert cause.kind == ORDER
    assert "[3, 4] in place of [6, 2]" in cause.text


def test_points_that_one_run_alone_has_are_left_out() -> None:
    """J-21"""
    extra = point(C, C, line=12, subject=None)
    cause = explain([point(A)], [extra, point(A, A)], counts=(1, 2))
    assert (cause.site, cause.kind) == ("train.py:31", SUMMED)
    assert "Before it, only one of the runs has all_reduce SUM at train.py:12" in cause.text


def test_nan_in_place_of_a_number_is_the_mean_of_no_examples() -> None:
    """J-22"""
    whole = weighted((0.5, A), (0.5, B))
    empty = np.full(3, np.nan, np.float32)
    cause = explain([point(whole, parts=(4,))], [point(A, B, empty, op="MEAN", parts=(2, 2, 0))], counts=(1, 3))
    assert cause.kind == MEAN_OF_MEANS
    assert "Replica 2 has no example, and its mean is 0/0" in cause.text


def test_a_factor_that_comes_again_in_the_next_step_is_passed_over() -> None:
    """J-29: the sums of two steps are twice the reference's, so both had no effect; the third is of unequal parts."""
    whole = weighted((4 / 7, A), (3 / 7, B))
    reference = [point(A, parts=(8,)), point(B, step=2, parts=(8,)), point(whole, step=3, parts=(7,))]
    halves = [(np.asarray(one * 1.5, np.float32), np.asarray(one * 0.5, np.float32)) for one in (A, B)]
    other = [point(*pair, step=step, parts=(4, 4)) for step, pair in enumerate(halves, 1)]
    cause = explain(reference, [*other, point(A, B, step=3, parts=(4, 3))], counts=(1, 2))
    assert (cause.step, cause.kind) == (3, MEAN_OF_MEANS)


def test_an_element_that_comes_again_in_later_steps_is_no_bound() -> None:
    """J-25: the largest element of one replica stays as it is, while the others change."""
    steps = [(rows(3.5, 0.2 + step, 0.3), rows(1.1, 0.7 * step, 0.9)) for step in (1, 2, 3)]
    other = [point(*terms, step=number) for number, terms in enumerate(steps, start=1)]
    reference = [point(terms[0] * 1.3 + terms[1], step=number) for number, terms in enumerate(steps, start=1)]
    assert explain(reference, other, counts=(1, 2)).kind is None


def test_elements_that_are_equal_in_groups_are_at_no_bound() -> None:
    """J-25: where columns of the data are equal, every element comes as often as the largest."""
    first, second = np.repeat(rows(0.5, 0.25, -0.125), 3), np.repeat(rows(0.375, 0.0625, 0.1), 3)
    cause = explain([point(1.3 * first + second)], [point(first, second)], counts=(1, 2))
    assert cause.kind is None
    first, second = rows(0.5, 0.5, -0.5, 0.3, 0.3, 0.0, 0.0), rows(0.2, -0.4, 0.1, 0.35, 0.0, 0.0, 0.15)
    cause = explain([point(1.3 * first + second)], [point(first, second)], counts=(1, 2))
    assert cause.kind == CLIPPING


def test_a_value_that_changed_by_another_factor_follows_from_no_point() -> None:
    """J-21: both change in proportion to one vector, but the kept value by a root, and the mean by a half."""
    mean = paired(point(A), point(A / 4, A / 4), (), (1, 2))
    assert link(paired(kept(-0.1 * A), kept(-0.1 * 2**0.5 * A), (), (1, 2)), mean, 1.0) is Link.NONE
    assert link(paired(kept(B - 0.1 * A), kept(B - 0.05 * A), (), (1, 2)), mean, 1.0) is Link.CHANGE


def test_whole_squared_norms_that_are_summed_again_are_named() -> None:
    """J-23"""
    norm = rows(float(np.sum(A.astype(np.float64) ** 2)))
    reference = [point(A), point(norm, line=40)]
    other = [point(A / 2, A / 2), point(norm, norm, line=40)]
    assert explain(reference, other, counts=(1, 2)).kind == NORMS_AGAIN


def test_a_one_that_every_replica_adds_may_count_steps() -> None:
    """J-23"""
    one = np.float32(1)
    both = [point(one, subject="step")._replace(what="assign_add", kept=True)]
    again = [point(one, one, subject="step")._replace(what="assign_add", kept=True)]
    cause = explain(both, again, counts=(1, 2))
    assert (cause.kind, cause.also[0]) == (SUMMED, STEPS_COUNTED)


def test_a_write_of_no_elements_raises_nothing() -> None:
    """J-20"""
    none = point(rows()), point(A)
    other = point(rows(), rows()), point(A, B)._replace(inputs=((rows(),), (A, B)))
    assert explain(none, other, counts=(1, 2)).site == "train.py:31"


def test_a_maximum_that_several_replicas_have_is_no_function() -> None:
    """J-27: a bound to which values are clipped is a maximum of any of them."""
    first, second = rows(0.25, -0.1, 0.25), rows(0.25, 0.2, 0.1)
    cause = explain([point(np.maximum(first, second))], [point(first, second)], counts=(1, 2))
    assert cause.kind != FUNCTION
    second = rows(0.3, 0.2, 0.1)
    cause = explain([point(np.maximum(first, second))], [point(first, second)], counts=(1, 2))
    assert cause.kind == FUNCTION


def test_a_sum_whose_mean_gives_the_reference_was_meant_as_a_mean() -> None:
    """J-23: unless the same call combines another value rightly."""
    halves = 0.5 * (A + B)
    cause = explain([point(halves, parts=(5,))], [point(A, B, parts=(3, 2))], counts=(1, 2))
    assert (cause.kind, cause.also) == (SUMMED, (SCALED,))


def test_equal_terms_of_one_size_may_be_at_a_bound() -> None:
    """J-24: of 3 replicas two reach the bound in both elements."""
    bound = rows(0.207, -0.207)
    cause = explain([point(0.9 * bound + 0.05)], [point(bound, bound, rows(0.1, -0.15))], counts=(1, 3))
    assert cause.kind != DUPLICATED


def test_one_number_shows_no_smallest_value() -> None:
    """J-27"""
    cause = explain([point(rows(-0.5))], [point(rows(-0.5), rows(0.3), rows(0.2))], counts=(1, 3))
    assert cause.kind != FUNCTION


@pytest.mark.parametrize(("scale", "kind"), [(0.5, DIVIDED), (2**0.5, ROOT)])
def test_numbers_of_examples_show_a_factor(scale: float, kind: str) -> None:
    """J-23: each replica contributes that multiple of the size of its part."""
    known = point(rows(5), parts=(5,))
    cause = explain([known], [point(rows(3 * scale), rows(2 * scale), parts=(3, 2))], counts=(1, 2))
    assert cause.kind == kind
    other = explain([known], [point(rows(2.5 * scale), rows(2.5 * scale), parts=(3, 2))], counts=(1, 2))
    assert other.kind is None


def test_an_empty_part_hides_no_norm() -> None:
    """J-25: its value is zero, which is a whole number."""
    first, second = rows(0.6, 0.8), rows(0.8, -0.6)
    cause = explain([point(rows(0.9, 1.3))], [point(first, second, rows(0, 0))], counts=(1, 3))
    assert cause.kind == CLIPPING


def test_a_vector_of_squared_norms_is_summed_again() -> None:
    """J-23"""
    squares = rows(float((A * A).sum()) / 4)
    before = [point(A / 2, line=30)._replace(outputs=(np.asarray(A / 2, np.float32),)), point(squares, line=40)]
    other = [point(A / 4, A / 4, line=30), point(squares, squares, line=40)]
    assert explain(before, other, counts=(1, 2)).kind == NORMS_AGAIN


def test_a_batch_with_the_examples_of_several_steps_grows() -> None:
    """J-24"""
    reference = [
        point(A, parts=(2,), rows=(("a", "b"),)),
        point(B, step=2, parts=(2,), rows=(("c", "d"),)),
    ]
    grown = [point(B, C, parts=(2, 2), rows=(("a", "b"), ("c", "d")))]
    assert explain(reference, grown, counts=(1, 2)).kind == BATCH_GROWS
    other = [point(B, C, parts=(2, 2), rows=(("a", "b"), ("c", "c")))]
    assert explain(reference, other, counts=(1, 2)).kind == OTHER_BATCHES


def test_values_at_one_bound_show_no_function() -> None:
    """J-27: the squares of a bound and of its negative have the square of the bound as their mean."""
    cause = explain([point(rows(0.207))], [point(rows(0.207), rows(-0.207))], counts=(1, 2))
    assert cause.kind != FUNCTION


@pytest.mark.parametrize(("rate", "kind"), [(1.0, SUM_OF_MEANS), (0.5, SCALED)])
def test_a_mean_of_a_sum_that_all_replicas_have_leaves_it_a_sum(rate: float, kind: str) -> None:
    """J-22: what is averaged was summed before, in another shape. A multiple of it may be too large for itself."""
    halves = [weighted((0.9, A), (1.2, B))[None], weighted((1.1, A), (0.8, B))[None]]
    once, twice = [np.asarray(rate * count * (A + B), np.float32) for count in (1, 2)]
    reference = [point((A + B)[None], line=4), point(once, op="MEAN", line=5), kept(once)]
    other = [point(*halves, line=4), point(twice, twice, op="MEAN", line=5), kept(twice, replicas=2)]
    cause = explain(reference, other, counts=(1, 2))
    assert cause.kind == kind, cause.text
    assert cause.site == "train.py:5"
    assert ("the sum of train.py:4 already" in cause.text) == (kind == SUM_OF_MEANS)


def test_a_mean_of_gathered_numbers_is_a_mean_of_means() -> None:
    """J-21, J-22: what replicas return has an axis of size 1, for a gather, which the mean has no more."""

    def returned(*values: float, parts: tuple[int, ...]) -> PointFacts:
        return PointFacts(1, "train.py:9", "run", None, None, tuple([(rows(value),) for value in values]), (), parts)

    def result(value: float) -> PointFacts:
        return PointFacts(1, "", "result", "result[0]", None, (), (rows(value)[0],), kept=True)

    whole = 0.6 * 1.1 + 0.4 * 2.7
    reference = [returned(whole, parts=(5,)), result(whole)]
    other = [returned(1.1, 2.7, parts=(3, 2)), result((1.1 + 2.7) / 2)]
    cause = explain(reference, other, counts=(1, 2))
    assert (cause.kind, cause.site) == (MEAN_OF_MEANS, "train.py:9"), cause.text


def columns(of_row: np.ndarray, *, own: bool) -> tuple[list[PointFacts], list[PointFacts]]:
    """Returns points of an array [4, 6] whose columns two replicas have.  own: whether each scales them by its sum."""
    values = np.exp(np.sin(np.arange(24, dtype=np.float32).reshape(4, 6) * 1.7))
    parts = [values[:, :3], values[:, 3:]]
    divided = [part / (part.sum(1, keepdims=True) if own else of_row) for part in parts]
    whole = values / (values.sum(1, keepdims=True) if own else 1)

    def returned(*terms: np.ndarray) -> PointFacts:
        inputs = tuple([(np.float32(term),) for term in terms])
        return PointFacts(1, "train.py:9", "return", "[0]", None, inputs, (np.float32(np.concatenate(terms, axis=1)),))

    return [returned(whole)], [returned(*divided)]


def test_columns_that_each_replica_scales_by_its_own_numbers_are_statistics() -> None:
    """J-26: a softmax whose classes lie on two replicas."""
    reference, other = columns(np.ones(1), own=True)
    cause = explain(reference, other, counts=(1, 2))
    assert cause.kind == STATISTICS, cause.text
    assert "part along axis 1 are the reference's, shifted and scaled" in cause.text


def test_columns_that_all_replicas_scale_alike_are_no_statistics() -> None:
    """J-26"""
    reference, other = columns(np.float32([[1.25], [1.5], [0.7], [3.1]]), own=False)
    assert explain(reference, other, counts=(1, 2)).kind is None


def test_calls_of_one_line_in_one_step_are_not_each_other_s_next_step() -> None:
    """J-29: a library's line scales the update of each parameter, once in a step."""
    reference = [point(A, subject=None), point(B, subject=None), point(C, subject=None, step=2)]
    other = [point(A, A, subject=None), point(B, B, subject=None), point(1.2 * C, 1.3 * C, subject=None, step=2)]
    cause = explain(reference, other, counts=(1, 2))
    assert (cause.kind, cause.step) == (SUMMED, 1), cause.text
    later = [point(C, subject=None, step=2), point(A, subject=None, step=3)]
    twice = [point(C, C, subject=None, step=2), point(1.2 * A, 1.3 * A, subject=None, step=3)]
    recurring = explain([reference[0], *later], [other[0], *twice], counts=(1, 2))
    assert recurring.step == 3, recurring.text  # the factor of step 1 came again in the next one


def line_of(value: np.ndarray, *, line: int, step: int = 1) -> PointFacts:
    """Returns a whole array that a line computes."""
    return PointFacts(step, f"train.py:{line}", "mul", None, None, (), (np.asarray(value, np.float32),))


def test_what_depends_on_no_state_differs_in_each_step_and_has_an_effect() -> None:
    """J-29: the gradient of a linear loss is the same in each step, so its factor comes again."""

    def place_of(*before: np.ndarray, between: tuple[PointFacts, ...] = (), factor: float = 2.0) -> str | None:
        def run(scale: float, changed: np.ndarray, later: np.ndarray) -> list[PointFacts]:
            constant = [*[(scale * one, 33) for one in before], (scale * B, 34)]
            first, second = [[line_of(one, line=line, step=step) for one, line in constant] for step in (1, 2)]
            return [*first, *between, line_of(changed, line=28), *second, line_of(later, line=28, step=2)]

        cause = explain(run(1, C, A), run(2, factor * C, A * A), counts=(1, 2))
        assert cause.step == 1
        return cause.site

    assert place_of() == "train.py:34"
    assert place_of(np.float32(3)) == "train.py:34"  # one number is a multiple of any other
    assert place_of(between=(line_of(A, line=30),)) == "train.py:28"  # what differed before was undone
    assert place_of(factor=3.0) == "train.py:28"


def test_a_maximum_that_is_one_replicas_value_is_no_function() -> None:
    """J-27: each element of the reference is replica 0's."""
    first, second = rows(0.25, 0.3, 0.25), rows(0.2, 0.2, 0.1)
    cause = explain([point(first)], [point(first, second)], counts=(1, 2))
    assert cause.kind != FUNCTION


def test_a_value_is_computed_from_a_point_only_where_that_was_followed() -> None:
    def text(into: dict[tuple[int, str | None], bool]) -> str:
        reference = [point(A, subject=None, number=0), kept(B, number=1)]
        other = [point(A, C, subject=None, number=0, into=into), kept(np.exp(B), replicas=2, number=1)]
        return explain(reference, other, counts=(1, 2)).text.partition(" differs first")[0]

    combined = "2 replicas against 1 replica: in step 1, all_reduce SUM at train.py:31"
    assert text({}) == f"{combined}, before the variable 'w',"
    assert text({(1, "w"): True}) == f"{combined}, from which the variable 'w' is computed,"
    assert text({(1, "w"): False}) == "2 replicas against 1 replica: in step 1, assign_sub MEAN of 'w' at train.py:32"


def test_a_set_that_begins_with_one_number_shows_clipping_too() -> None:
    """J-100: a bias of one element is combined before the weights, and a loss on the next line."""
    first, second = [one / np.linalg.norm(one) * np.float32(0.5) for one in (rows(0.2, 1.3), rows(-0.9, 0.4))]
    sets = [point(one[:1], other[:1], subject=name) for one, other, name in ((first, second, "b"),)]
    last = point(first[1:], second[1:], subject="w", line=32)
    loss = point(0.75, 1.5, subject="loss", line=33)
    reference = [point(one, subject=subject, line=line) for one, subject, line in _EXPECTED]
    cause = explain(reference, [*sets, last, loss], counts=(1, 2))
    assert cause.kind == CLIPPING
    assert "set of values of a step without the number at train.py:33 is clipped, or scaled, to a norm" in cause.text
    longer = last._replace(inputs=((first[1:],), (second[1:] * np.float32(1.1),)))
    assert explain(reference, [*sets, longer, loss], counts=(1, 2)).kind is None


_EXPECTED = ((rows(0.7), "b", 31), (rows(1.9), "w", 32), (0.6, "loss", 33))
