"""What rounding explains and what it does not: distances, sensitivities, and outcomes side by side."""

import numpy as np
import pytest

from simstrategy.check.compare import MARGIN, compare, exactly, sensitivity
from simstrategy.check.outcome import Outcome

ONE = np.float32([1.0, 2.0, -4.0])


def outcome(*arrays, error=None):
    return Outcome(tuple((f"result[{i}]", np.asarray(array)) for i, array in enumerate(arrays)), error, ())


def units(reference, *nudged):
    return sensitivity(reference, list(nudged))


def moved(array, ulps):
    for _ in range(ulps):
        array = np.nextafter(array, np.asarray(np.inf, array.dtype))
    return array


def test_equal_outcomes_are_equal_to_the_bit():
    found = compare(outcome(ONE, 3), outcome(ONE.copy(), 3), units(outcome(ONE, 3)))
    assert found == (True, 0.0, 0.0, None, None)


def test_a_unit_in_the_last_place_is_explained_and_ten_are_not():
    reference = outcome(ONE)
    near = compare(reference, outcome(moved(ONE, 1)), units(reference))
    assert near.problem is None
    assert not near.equal_bits
    assert 0 < near.distance <= near.one_ulp
    far = compare(reference, outcome(moved(ONE, 12)), units(reference))
    assert far.problem.startswith("result[0]: element [1] is 2.0000029 against 2.0;")
    assert far.problem.endswith(" apart, relative to its size (up to 6e-07 may be rounding)")
    assert far.distance > MARGIN * far.one_ulp


def test_the_bound_is_five_times_what_the_nudged_runs_show():
    reference = outcome(np.float64([1.0, 1.0]))
    one_ulp = units(reference, outcome(np.float64([1.0 + 1e-6, 1.0])))
    assert one_ulp[0][0] == pytest.approx(1e-6)
    assert compare(reference, outcome(np.float64([1.0 + 3e-6, 1.0])), one_ulp).problem is None
    assert compare(reference, outcome(np.float64([1.0 + 7e-6, 1.0])), one_ulp).problem is not None


def test_many_small_differences_are_found_where_one_of_their_size_is_not():
    reference = outcome(np.ones(1000))
    nudged = np.ones(1000)
    nudged[0] += 1e-9
    one_ulp = units(reference, outcome(nudged))
    one_off = np.ones(1000)
    one_off[5] += 2e-9
    assert compare(reference, outcome(one_off), one_ulp).problem is None
    assert compare(reference, outcome(np.ones(1000) + 2e-9), one_ulp).problem is not None


def test_the_largest_of_several_nudged_runs_counts_and_one_ulp_at_least():
    reference = outcome(np.float32([1.0]))
    eps = float(np.finfo(np.float32).eps)
    assert units(reference) == ((eps, eps, eps, None, None),)
    assert units(reference, reference) == ((eps, eps, eps, 0.0, 0.0),)
    (found,) = units(reference, outcome(np.float32([1.001])), outcome(np.float32([1.01])))
    assert found.by_max == found.measured_max == pytest.approx(0.01, rel=1e-3)
    assert units(outcome(3)) == ((0.0, 0.0, 0.0, None, None),)


def test_a_nudged_run_that_becomes_infinite_or_changes_its_form_sets_no_bound():
    reference = outcome(ONE)
    eps = float(np.finfo(np.float32).eps)
    for other in (ONE * np.float32(np.inf), ONE[:2], ONE.astype(np.float64)):
        assert units(reference, outcome(other)) == ((eps, eps, eps, None, None),)


def test_a_difference_states_what_was_measured_and_what_may_be_rounding():
    reference = outcome(np.float64([1.0, 1.0]))
    for nudged, text in (
        (
            outcome(np.float64([1.0 + 1e-6, 1.0])),
            "(rounding of the inputs moves it by 1e-06; up to 5e-06 may be rounding)",
        ),
        (reference, "(rounding of the inputs does not move it; up to 1.1e-15 may be rounding)"),
    ):
        found = compare(reference, outcome(np.float64([1.5, 1.0])), units(reference, nudged))
        assert found.problem == f"result[0]: element [0] is 1.5 against 1.0; 0.5 apart, relative to its size {text}"
    wider = units(reference, outcome(np.float64([1.0 + 1e-6, 1.0])))[0].at_least(1e-3)
    found = compare(reference, outcome(np.float64([1.5, 1.0])), [wider])
    assert found.problem.endswith("(rounding of the inputs moves it by 1e-06; up to 0.005 may be rounding)")
    never = compare(reference, outcome(np.float64([1.5, 1.0])), exactly(reference))
    assert never.problem.endswith("; 0.5 apart, relative to its size")


def test_a_bound_that_explains_everything_explains_nothing():
    reference = outcome(np.float16([2048.0]))
    moving = units(reference, outcome(np.float16([2990.0])))
    far = compare(reference, outcome(np.float16([3000.0])), moving)
    assert far.problem is None
    assert far.undecided.startswith("result[0]: element [0] is 3e+03 against 2.048e+03; 0.46 apart")
    near = compare(reference, outcome(moved(np.float16([2048.0]), 2)), moving)
    assert (near.problem, near.undecided) == (None, None)
    assert compare(reference, outcome(np.float16([3e4])), moving).problem is not None


def test_a_text_or_a_number_that_rounding_changes_too_is_not_judged():
    for one, other in ((3, 4), ("a", "b")):
        reference = outcome(one)
        assert compare(reference, outcome(other), units(reference)).problem is not None
        found = compare(reference, outcome(other), units(reference, outcome(other)))
        assert found.problem is None
        assert found.undecided.endswith("; rounding of the inputs changes it as well")
        assert compare(reference, outcome(one), units(reference, outcome(other))).undecided is None


def test_a_nudged_run_with_other_results_sets_no_bound():
    reference, other = Outcome((("a", ONE),), None, ()), Outcome((("b", ONE * 2),), None, ())
    assert sensitivity(reference, [other]) == sensitivity(reference, [])


@pytest.mark.parametrize(
    ("one", "two", "text"),
    [
        (np.int32([1, 2]), np.int32([1, 3]), "element [1] is 3 against 2"),
        (np.array("a"), np.array("b"), "b against a"),
        (np.array([True]), np.array([False]), "element [0] is False against True"),
        (np.float32([1, np.nan]), np.float32([1, 2]), "element [1] is 2.0 against nan"),
        (np.float32([1, 2]), np.float32([1, np.nan]), "element [1] is nan against 2.0"),
        (np.float32([np.inf]), np.float32([-np.inf]), "element [0] is -inf against inf"),
        (np.float32([0, 0]), np.float32([0, 1e-3]), "element [1] is 0.001 against 0.0"),
        (np.float32([1]), np.float64([1]), "float64[1] against float32[1]"),
        (np.float32([1]), np.float32(1), "float32[] against float32[1]"),
        (np.complex64([1 + 1j]), np.complex64([1 + 2j]), "element [0] is (1+2j) against (1+1j)"),
    ],
)
def test_what_rounding_does_not_explain_is_told_with_both_values(one, two, text):
    reference = outcome(one)
    found = compare(reference, outcome(two), units(reference))
    assert found.problem.startswith("result[0]: ")
    assert text in found.problem
    assert not found.equal_bits


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (np.float32([np.nan, 1]), np.float32([np.nan, 1])),
        (np.float32([np.inf, -np.inf]), np.float32([np.inf, -np.inf])),
        (np.float32([0.0]), np.float32([-0.0])),
        (np.zeros(0), np.zeros(0)),
    ],
)
def test_equal_oddities_agree(one, two):
    reference = outcome(one)
    assert compare(reference, outcome(two), units(reference)).problem is None


def test_numbers_too_large_or_small_to_square_are_compared():
    for scale in (1e-300, 1e300):
        reference = outcome(np.float64([1.0, 2.0]) * scale)
        assert compare(reference, outcome(np.float64([1.0, 2.0 + 1e-15]) * scale), units(reference)).problem is None
        assert compare(reference, outcome(np.float64([1.0, 2.1]) * scale), units(reference)).problem is not None


def test_errors_are_compared_like_values():
    raised, other = outcome(error=("KeyError", "'a'")), outcome(error=("KeyError", "'b'"))
    assert compare(raised, outcome(error=("KeyError", "'a'")), ()).problem is None
    assert compare(raised, other, ()).problem == "errors differ: KeyError('b') against KeyError('a')"
    assert compare(outcome(ONE), raised, units(outcome(ONE))).problem == "errors differ: KeyError('a') against none"


def test_structures_are_compared_by_path():
    reference = Outcome((("result['a']", ONE), ("result['b']", ONE)), None, ())
    other = Outcome((("result['a']", ONE), ("result['c']", ONE)), None, ())
    found = compare(reference, other, units(reference))
    assert found.problem == (
        "results have different structures: missing [\"result['b']\"], not expected [\"result['c']\"]"
    )


def test_bfloat16_is_a_float():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    one = np.array([1.0, 2.0], ml_dtypes.bfloat16)
    reference = outcome(one)
    assert units(reference)[0][:3] == (2.0**-7, 2.0**-7, 2.0**-7)
    near = np.array([1.0078125, 2.0], ml_dtypes.bfloat16)
    assert compare(reference, outcome(near), units(reference)).problem is None
    assert compare(reference, outcome(one * 2), units(reference)).problem is not None
