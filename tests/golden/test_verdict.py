"""The verdict itself: each way of being wrong is seen, and what it says."""

import numpy as np
import pytest

from golden_replay import Raised, RecordedError, difference
from simstrategy import errors

RECORDED = {"value": np.float32([[1.5, 2.0]])}


def answer(array):
    return {"value": array}


def test_the_same_answer_agrees():
    assert difference(RECORDED, answer(np.float32([[1.5, 2.0]]))) is None
    assert difference(RECORDED, answer(np.asfortranarray(np.float32([[1.5, 2.0]])))) is None


@pytest.mark.parametrize(
    ("ours", "text"),
    [
        (answer(np.float32([[1.5, np.nextafter(np.float32(2), np.float32(3))]])), "2.000000238418579"),
        (answer(np.float64([[1.5, 2.0]])), "float64[1, 2] [1.5, 2.0], recorded float32[1, 2]"),
        (answer(np.float32([1.5, 2.0])), "float32[2] [1.5, 2.0], recorded float32[1, 2]"),
        (answer([[1.5, 2.0]]), "[[1.5, 2.0]], recorded float32[1, 2]"),
        (answer(None), "None, recorded float32[1, 2]"),
        ({"values": RECORDED["value"]}, "has ['values'], recorded ['value']"),
        ([RECORDED["value"]], "recorded {'value'"),
        (Raised(errors.InvalidArgument("no")), "InvalidArgument (no), recorded {'value'"),
    ],
)
def test_a_wrong_value_dtype_shape_or_structure_is_seen(ours, text):
    assert text in difference(RECORDED, ours)


def test_zeros_have_a_sign_and_nans_have_none():
    assert difference(np.float32(0.0), np.float32(-0.0)[...]) is not None
    assert difference(np.float32([np.nan, 1]), -np.float32([np.nan, -1])) is None
    assert difference(np.float32([np.nan, 1]), np.float32([1, np.nan])) is not None
    assert difference(np.complex64([complex(np.nan, 1)]), np.complex64([complex(np.nan, 1)])) is None
    assert difference(np.complex64([complex(np.nan, 1)]), np.complex64([complex(1, np.nan)])) is not None
    assert difference(np.int32([1]), np.int32([2])) is not None


@pytest.mark.parametrize(
    ("recorded", "ours"),
    [
        ([1], [True]),
        ([1], [1.0]),
        ([1, 2], [1]),
        ([1], (1,)),
        ({"a": 1}, {"b": 1}),
        ({"py": 0}, {"py": None}),
        ("a", "b"),
    ],
)
def test_plain_values_are_compared_with_their_types(recorded, ours):
    assert difference(recorded, recorded) is None
    assert difference(recorded, ours) is not None


def test_the_first_difference_says_where():
    found = difference({"log": ["ok", [np.int32([1]), np.int32([2])]]}, {"log": ["ok", [np.int32([1]), np.int32([3])]]})
    assert found == "answer['log'][1][1]: int32[1] [3], recorded int32[1] [2]"


CLASH = RecordedError("InvalidArgumentError", "Inputs to operation AddN must have the same size and shape.")


def test_an_error_of_the_class_that_stands_for_tensorflows_agrees():
    assert difference(CLASH, Raised(errors.InvalidArgument("arrays that cannot be added"))) is None
    by_built_in = Raised(errors.ReplicasDisagree("arrays that cannot be added"))
    assert difference(CLASH, by_built_in) is None  # a ValueError, as users of TensorFlow catch it
    assert difference(RecordedError("RuntimeError", ""), Raised(errors.ContextError("Mixing"))) is None


@pytest.mark.parametrize(
    ("ours", "text"),
    [
        (answer(np.float32(1)), "recorded InvalidArgumentError"),
        (Raised(errors.InvalidType("cannot be added")), "which is no InvalidArgument"),
        (Raised(errors.ContextError("cannot be added")), "which is no InvalidArgument"),
        (Raised(ValueError("cannot be added")), "which is none of simstrategy's errors"),
        (Raised(NotImplementedError("cannot be added")), "which says that this is not implemented"),
        (Raised(errors.Unsupported("cannot be added")), "which says that this is not implemented"),
        (Raised(errors.InvalidArgument("some other reason")), "which does not say 'cannot be added'"),
    ],
)
def test_a_missing_error_a_wrong_class_a_stub_and_a_wrong_reason_are_seen(ours, text):
    assert text in difference(CLASH, ours)


def test_a_recorded_class_that_nothing_of_ours_stands_for_never_agrees():
    found = difference(RecordedError("NotFoundError", ""), Raised(errors.InvalidArgument("bool")))
    assert "no class of ours stands for NotFoundError" in found


def test_a_stub_agrees_with_no_recorded_class():
    for name in errors.TENSORFLOW_ERRORS:
        assert difference(RecordedError(name, ""), Raised(NotImplementedError("later"))) is not None
        assert difference(RecordedError(name, ""), Raised(errors.Unsupported("later"))) is not None
