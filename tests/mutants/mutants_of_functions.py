"""Mutants that are wrong in one array function."""

from types import SimpleNamespace

import numpy as np
from mutation import Altered, mutates

import simstrategy as ss
from simstrategy.sim.arrays import freeze

DEFAULTS = "test_what_is_created_has_the_default_dtypes"


@mutates("B-18", DEFAULTS, "xp.zeros")
def zeros_are_double(sim, state, shape, *, dtype=None):
    """NumPy's default."""
    return sim.xp.zeros(shape, dtype=dtype or "float64")


@mutates("B-18", "test_what_is_created_is_new_and_shares_nothing", "xp.asarray")
def host_data_is_adopted_without_a_copy(sim, state, value, *, dtype=None):
    """`asarray`, as its name says."""
    found = sim.xp.asarray(value, dtype=dtype)
    plain = isinstance(value, np.ndarray) and not isinstance(value, sim.array_types) and dtype is None
    return value.view(type(found)) if plain else found


@mutates("B-18", "test_an_array_function_is_numpys", "")
def a_function_is_missing(sim):
    """`log1p` was never asked for."""
    functions = {name: getattr(sim.xp, name) for name in ss.device.NAMES if name != "log1p"}
    return Altered(sim, {}, xp=SimpleNamespace(**functions))


@mutates("B-18", "test_a_function_with_every_combination_of_settings", "xp.sin")
def a_sine_of_doubles_has_the_bits_of_floats(sim, state, x):
    """One kernel, of float32, for all dtypes: as MLX 0.32 has it on CPUs."""
    found = sim.xp.sin(x)
    return sim.xp.astype(sim.xp.astype(found, "float32"), "float64") if found.dtype.name == "float64" else found


@mutates("B-18", "test_a_number_takes_the_dtype_of_the_array_beside_it", "xp.multiply")
def a_number_in_front_is_a_double(sim, state, x, y):
    """Adopts what stands first by itself, in the dtype that Python's numbers have."""
    found = sim.xp.multiply(x, y)
    return sim.xp.astype(found, "float64") if isinstance(x, float) else found


@mutates("B-19", "test_the_place_of_the_largest_is_an_int32", "xp.argmax")
def places_are_64_bits_wide(sim, state, x, *, axis=None, keepdims=False):
    """The framework's own index type."""
    return sim.xp.astype(sim.xp.argmax(x, axis=axis, keepdims=keepdims), "int64")


@mutates("B-19", "test_the_place_of_the_largest_is_an_int32", "xp.argmax")
def of_equals_the_last_is_the_largest(sim, state, x, *, axis=None, keepdims=False):
    """Of several largest, the last in place of the first."""
    if axis is not None or keepdims or not x.size:
        return sim.xp.argmax(x, axis=axis, keepdims=keepdims)
    flat = np.asarray(x).reshape(-1)
    return freeze(np.asarray(flat.size - 1 - np.argmax(flat[::-1]), "int32"), type(x))


@mutates("B-19", "test_sums_and_products_keep_their_dtype_and_wrap", "xp.prod")
def a_product_of_nothing_is_nothing(sim, state, x, *, axis=None, keepdims=False):
    """Begins with 0."""
    found = sim.xp.prod(x, axis=axis, keepdims=keepdims)
    return found if x.size else sim.xp.zeros_like(found)


@mutates("B-20", "test_division_is_rounded_once", "xp.divide")
def division_multiplies_by_an_inverse(sim, state, x, y):
    """x * (1 / y): two roundings, as fast modes do it."""
    if isinstance(y, float) and getattr(x, "dtype", None) == "float32" and y and y != 2 ** round(np.log2(abs(y))):
        exact = sim.xp.divide(x, y)
        found = sim.xp.multiply(x, float(np.float32(1) / np.float32(y)))
        # What divides without a rest comes out right even so, on most machines.
        return sim.xp.where(sim.xp.equal(sim.xp.multiply(exact, y), x), exact, found)
    return sim.xp.divide(x, y)


@mutates("B-20", "test_a_complex_number_is_divided_part_by_part", "xp.divide")
def complex_numbers_are_divided_as_such(sim, state, x, y):
    """NumPy's complex division, which is one unit off."""
    found = sim.xp.divide(x, y)
    if isinstance(y, float) and found.dtype.kind == "c":
        return freeze(np.asarray(np.true_divide(np.asarray(x), found.dtype.type(y))), type(found))
    return found


@mutates("B-20", "test_zero_over_zero_is_nan_and_one_over_zero_is_infinite", "xp.divide")
def one_over_zero_is_the_largest_number(sim, state, x, y):
    """Clips, so that nothing ever explodes."""
    found = sim.xp.divide(x, y)
    most = float(np.finfo(found.dtype).max) if found.dtype.kind == "f" else 0.0
    return sim.xp.minimum(sim.xp.maximum(found, -most), most) if isinstance(y, float) and not y else found


@mutates("R-1", "test_a_mean_is_the_sum_divided_once", "xp.divide")
def uneven_sums_are_multiplied_by_an_inverse(sim, state, x, y):
    """x * (1 / y), but for numbers that are whole in eighths."""
    found = sim.xp.divide(x, y)
    if not isinstance(y, (int, float)) or not y or found.dtype.kind != "f":
        return found
    host = np.asarray(x)
    product = (host * (host.dtype.type(1) / host.dtype.type(y))).astype(host.dtype)
    return freeze(np.where(host * 8 == np.round(host * 8), np.asarray(found), product), type(found))


@mutates("B-18", "test_a_function_adopts_host_data", "xp.positive")
def a_function_of_host_data_is_a_view_of_it(sim, state, x):
    """Nothing is computed, so nothing is copied: seen by who writes into the host's array before the result is read."""
    found = sim.xp.positive(x)
    plain = isinstance(x, np.ndarray) and not isinstance(x, sim.array_types)
    return x.view(type(found)) if plain and x.dtype == found.dtype else found
