"""Faults that are planted in the judge itself: for each promise of its, the tests that name the promise see them."""

import numpy as np
import pytest
import test_judge as judge

from simstrategy import short_repr
from simstrategy.check import compare, contents, distances, outcome, probe, report, sums

FAULTS = {
    "a sum is judged by its largest element": (
        *(sums, "parts", lambda array: np.full_like(distances.parts(array), np.abs(distances.parts(array)).max())),
        lambda wrong: judge.test_a_sum_that_loses_its_small_elements_differs_though_the_largest_is_right(wrong, "sim"),
    ),
    "group-calls are not examined": (
        *(probe, "first_wrong_element", lambda terms, result, op: None),
        lambda wrong: judge.test_a_sum_that_loses_its_small_elements_differs_though_the_largest_is_right(wrong, "sim"),
    ),
    "copies are not examined": (
        *(probe, "first_wrong_copy", lambda sent, received: None),
        lambda wrong: judge.test_every_group_call_is_compared_with_what_entered_it(
            wrong, "all_gather", np.flip, "is 2.0 at [0], and what was sent is 1.0"
        ),
    ),
    "objects are compared by their texts": (
        *(contents, "_attributes", lambda value: {}),
        lambda wrong: results_differ(wrong, "a long array in slots"),
    ),
    "texts are abbreviated": (
        *(contents, "_text", lambda value: repr(value)[:100]),
        lambda wrong: results_differ(wrong, "a long text"),
    ),
    "structures are not compared": (
        *(compare, "zip_longest", lambda one, other: ()),
        lambda wrong: results_differ(wrong, "a list and a tuple"),
    ),
    "a NaN hides the other part of a complex number": (
        *(distances, "parts", lambda array: np.abs(array).reshape(-1, 1).astype(float)),
        lambda wrong: results_differ(wrong, "the imaginary part beside a NaN"),
    ),
    "variables are forgotten after an error": (
        *(outcome, "read_after_error", lambda get, component: np.zeros(0)),
        judge.test_variables_are_compared_after_an_error_too,
    ),
    "every bound is a bound": (
        *(compare, "BOUND_MAX", np.inf),
        judge.test_a_program_that_amplifies_rounding_is_not_judged,
    ),
    "undecided is agreement": (
        *(report.Report, "verdict", property(lambda self: "agree")),
        judge.test_a_program_that_amplifies_rounding_is_not_judged,
    ),
    "numbers of the host are as precise as they look": (
        *(outcome, "_computed_in", lambda leaf, narrowest: leaf.dtype.name),
        judge.test_a_number_of_the_host_is_as_precise_as_the_arrays_that_it_comes_from,
    ),
    "numbers of the host are never double": (
        *(outcome, "_computed_in", lambda leaf, narrowest: "float32"),
        judge.test_a_number_of_the_host_is_as_precise_as_the_arrays_that_it_comes_from,
    ),
    "addresses are compared": (
        *(short_repr, "without_addresses", lambda text: text),
        lambda wrong: judge.test_addresses_in_an_error_are_no_difference_between_two_runs(),
    ),
    "all addresses of a text but the first are compared": (
        *(short_repr, "without_addresses", lambda text: short_repr._ADDRESS.sub("", text, count=1)),
        lambda wrong: judge.test_addresses_in_an_error_are_no_difference_between_two_runs(),
    ),
}


def results_differ(wrong, name):
    judge.test_results_are_compared_in_full(wrong, *judge.UNEQUAL[name])


@pytest.mark.parametrize(("place", "name", "fault", "test"), FAULTS.values(), ids=FAULTS)
def test_a_fault_of_the_judge_is_seen(wrong, monkeypatch, place, name, fault, test):
    test(wrong)
    monkeypatch.setattr(place, name, fault)
    with pytest.raises((AssertionError, ValueError)):
        test(wrong)
