"""What counts as a zero: one answer for `reduce` and for writes of variables."""

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.errors import InvalidArgument
from simstrategy.strategy.validation import is_host_zero

ZEROS = [0, 0.0, -0.0, 0j, np.float32(0), np.complex64(0), np.zeros(2), np.zeros((0, 3))]
OTHERS = [1, 1j, False, np.False_, np.zeros(2, bool), np.array(["", ""]), "", None, np.ones(2), np.nan]


@pytest.mark.parametrize("value", ZEROS, ids=repr)
def test_numbers_and_arrays_of_nothing_but_zeros_are_zeros(value):
    assert is_host_zero(value, ())


@pytest.mark.parametrize("value", OTHERS, ids=repr)
def test_truth_values_texts_and_other_numbers_are_none(value):
    assert not is_host_zero(value, ())


def test_an_array_of_the_backend_is_none(mirrored):
    zero = mirrored().xp.zeros((2,))
    assert not is_host_zero(zero, (type(zero),))


@pytest.mark.parametrize("value", [0j, np.complex64(0)], ids=repr)
def test_reduce_and_a_variables_write_agree_on_a_complex_zero(mirrored, same, value):
    strategy = mirrored()
    with strategy.scope():
        variable = ss.Variable(np.complex64(3 + 1j), aggregation=ss.VariableAggregation.SUM)
    strategy.run(lambda: variable.assign_add(value))
    same(variable.numpy(), np.complex64(3 + 1j))
    assert strategy.reduce("SUM", value) is value


def test_reduce_and_a_variables_write_agree_that_a_truth_value_is_none(mirrored):
    strategy, value = mirrored(), np.zeros(2, bool)
    with strategy.scope():
        variable = ss.Variable(value, aggregation=ss.VariableAggregation.SUM)
    with pytest.raises(InvalidArgument):
        strategy.run(lambda: variable.assign(value))
    with pytest.raises(InvalidArgument):
        strategy.reduce("SUM", value)
