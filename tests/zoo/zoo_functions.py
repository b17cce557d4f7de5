"""Animals that are wrong in one array function."""

import numpy as np
from zoo_animals import Altered, zoo_keeper

from simstrategy.sim.arrays import freeze

DEFAULTS = "test_what_is_created_has_the_default_dtypes"


@zoo_keeper("B-18", DEFAULTS, "xp.zeros")
def zeros_are_double(sim, state, shape, *, dtype=None):
    """NumPy's default."""
    return sim.xp.zeros(shape, dtype=dtype or "float64")


@zoo_keeper("B-18", "test_host_data_is_copied_when_it_is_adopted", "xp.asarray")
def host_data_is_adopted_without_a_copy(sim, state, value, *, dtype=None):
    """`asarray`, as its name says."""
    found = sim.xp.asarray(value, dtype=dtype)
    plain = isinstance(value, np.ndarray) and not isinstance(value, sim.array_types) and dtype is None
    return value.view(type(found)) if plain else found


@zoo_keeper("B-18", "test_what_is_created_is_new_each_time", "xp.full")
def equal_arrays_are_made_once(sim, state, shape, fill_value, *, dtype=None):
    """A cache: replicas' equal arrays become one object, and one result."""
    key = (shape, repr(fill_value), dtype, sim.spec(sim.xp.zeros(()))[2])
    return state.setdefault(key, sim.xp.full(shape, fill_value, dtype=dtype))


@zoo_keeper("B-18", "test_every_function_is_there", "")
def a_function_is_missing(sim):
    """`tanh` was never asked for."""
    from simstrategy.device import NAMES

    class Functions:
        def __init__(self):
            vars(self).update({name: getattr(sim.xp, name) for name in NAMES if name != "log1p"})

    return Altered(sim, {}, xp=Functions())


@zoo_keeper("B-19", "test_sums_and_products_keep_their_dtype_and_wrap", "xp.sum")
def small_integers_are_summed_in_large_ones(sim, state, x, *, axis=None, keepdims=False):
    """NumPy's rule: int8 sums to int64."""
    found = sim.xp.sum(x, axis=axis, keepdims=keepdims)
    wide = x.dtype.kind in "iu" and x.dtype.itemsize == 1
    return freeze(np.asarray(np.sum(np.asarray(x), axis=axis, keepdims=keepdims)), type(found)) if wide else found


@zoo_keeper("B-19", "test_the_place_of_the_largest_is_an_int32", "xp.argmax")
def places_are_64_bits_wide(sim, state, x, *, axis=None, keepdims=False):
    """The framework's own index type."""
    return sim.xp.astype(sim.xp.argmax(x, axis=axis, keepdims=keepdims), "int64")


@zoo_keeper("B-19", "test_the_place_of_the_largest_is_an_int32", "xp.argmax")
def of_equals_the_last_is_the_largest(sim, state, x, *, axis=None, keepdims=False):
    """Of several largest, the last in place of the first."""
    if axis is not None or keepdims or not x.size:
        return sim.xp.argmax(x, axis=axis, keepdims=keepdims)
    flat = np.asarray(x).reshape(-1)
    return freeze(np.asarray(flat.size - 1 - np.argmax(flat[::-1]), "int32"), type(x))


@zoo_keeper("B-19", "test_sums_and_products_keep_their_dtype_and_wrap", "xp.prod")
def a_product_of_nothing_is_nothing(sim, state, x, *, axis=None, keepdims=False):
    """Begins with 0."""
    found = sim.xp.prod(x, axis=axis, keepdims=keepdims)
    return found if x.size else sim.xp.zeros_like(found)


@zoo_keeper("B-20", "test_division_is_rounded_once", "xp.divide")
def division_multiplies_by_an_inverse(sim, state, x, y):
    """x * (1 / y): two roundings, as fast modes do it."""
    if isinstance(y, float) and getattr(x, "dtype", None) == "float32" and y and y != 2 ** round(np.log2(abs(y))):
        exact = sim.xp.divide(x, y)
        found = sim.xp.multiply(x, float(np.float32(1) / np.float32(y)))
        # What divides without a rest comes out right even so, on most machines.
        return sim.xp.where(sim.xp.equal(sim.xp.multiply(exact, y), x), exact, found)
    return sim.xp.divide(x, y)


@zoo_keeper("B-20", "test_a_complex_number_is_divided_part_by_part", "xp.divide")
def complex_numbers_are_divided_as_such(sim, state, x, y):
    """NumPy's complex division, which is one unit off."""
    found = sim.xp.divide(x, y)
    if isinstance(y, float) and found.dtype.kind == "c":
        return freeze(np.asarray(np.true_divide(np.asarray(x), found.dtype.type(y))), type(found))
    return found


@zoo_keeper("B-20", "test_zero_over_zero_is_nan_and_one_over_zero_is_infinite", "xp.divide")
def division_by_zero_is_zero(sim, state, x, y):
    """`divide_no_nan`, so that nothing ever explodes."""
    return sim.xp.zeros_like(x) if isinstance(y, float) and y == 0 else sim.xp.divide(x, y)
