"""Mutants that are wrong with one setting of an array function, one pair of numbers or dtypes, or one kind of argument.

Generated wrong backends of this family passed the kit at its quick profile: their call was not among those drawn.
"""

import numpy as np
from mutants_of_collectives import each
from mutation import Altered, loose, mutates

from simstrategy.sim.arrays import freeze

COMBINED = "test_a_function_with_every_combination_of_settings"
LARGE = 2**18


@mutates("B-18", COMBINED, "xp.asarray")
def a_cast_array_is_on_the_current_device(sim, state, value, *, dtype=None):
    """What is cast is made anew, and new arrays are on the current device. The simulator did so."""
    if dtype is None or not isinstance(value, sim.array_types):
        return sim.xp.asarray(value, dtype=dtype)
    return sim.xp.asarray(np.asarray(value), dtype=dtype)


@mutates("B-18", COMBINED, "xp.eye")
def every_diagonal_is_the_main_one(sim, state, n_rows, n_cols=None, *, k=0, dtype=None):
    """`k` is taken and not passed on. The first backend of the guide had no `k`."""
    return sim.xp.eye(n_rows, n_cols, dtype=dtype)


@mutates("B-18", "test_a_function_adopts_host_data", "xp.max")
def host_data_is_an_error_of_its_own(sim, state, x, *, axis=None, keepdims=False):
    """Reads the attributes of an array before it makes one."""
    return sim.xp.max(x.view(type(x)), axis=axis, keepdims=keepdims)


@mutates("B-22", "test_a_wrong_call_raises_the_error_of_its_mistake", "xp.searchsorted")
def complex_numbers_are_found_by_their_real_parts(sim, state, *given, **options):
    """Asks the row for its dtype, and not what is looked for in it."""
    x1, x2 = given if len(given) == 2 else (None, None)
    row, sought = getattr(x1, "dtype", None), getattr(x2, "dtype", None)
    if row is not None and sought is not None and sought.kind == "c" and row.kind != "c":
        given = (x1, sim.xp.real(x2))
    return sim.xp.searchsorted(*given, **options)


@mutates("B-18", "test_wrong_dtypes_axes_shapes_and_settings_raise", "xp.meshgrid")
def the_last_of_several_is_not_looked_at(sim, state, *arrays, indexing="xy"):
    """Checks the arguments in pairs, each beside the next one, and the last has none."""
    if len(arrays) > 1 and arrays[-1].ndim > 1 and all(one.ndim == 1 for one in arrays[:-1]):
        arrays = (*arrays[:-1], sim.xp.reshape(arrays[-1], (-1,)))
    return sim.xp.meshgrid(*arrays, indexing=indexing)


@mutates("B-19", "test_many_numbers_of_float16_are_added_in_more_bits", "xp.prod")
def products_of_few_bits_are_rounded_each_time(sim, state, x, *, axis=None, keepdims=False):
    """Multiplies row by row in the array's dtype, which has few bits."""
    if axis != 0 or keepdims or x.dtype != "float16" or x.ndim != 2 or x.shape[0] < 2:
        return sim.xp.prod(x, axis=axis, keepdims=keepdims)
    total = np.asarray(x)[0]
    for row in np.asarray(x)[1:]:
        total = total * row
    return freeze(total, type(x))


@mutates("B-21", "test_arrays_of_two_dtypes_have_that_of_the_higher_kind", "xp.divide")
def a_complex_number_keeps_its_width_over_a_wide_one(sim, state, x, y):
    """Divides the parts and puts them into an array like the one on top."""
    found = sim.xp.divide(x, y)
    is_wider = getattr(x, "dtype", None) == "complex64" and found.dtype == "complex128"
    return sim.xp.astype(found, "complex64") if is_wider else found


@mutates("B-14", "test_a_large_result_is_not_that_of_an_earlier_call", "all_reduce")
def a_large_result_is_that_of_the_call_before(sim, state, arrays, op):
    """The buffer for large arrays is chosen by their form, and is taken for filled."""
    found = sim.all_reduce(arrays, op)
    if found[0].size < LARGE:
        return found
    kept = state.setdefault((op, len(arrays), found[0].shape, str(found[0].dtype)), np.asarray(found[0]))
    return each(sim, arrays, kept)


@mutates("B-7", "test_a_cell_of_every_form_holds_what_was_written", "cell")
def the_end_of_a_long_array_is_not_written(sim, state, initial):
    """Copies whole blocks into the storage: the rest keeps what it was."""
    return _OfBlocks(sim.cell(initial))


class _OfBlocks:
    def __init__(self, cell):
        self._cell = cell
        self.native = cell.native

    def read(self):
        return self._cell.read()

    def write(self, value):
        whole = loose(value)
        if value.size > 1000:
            whole.reshape(-1)[-1] = np.asarray(self.read()).reshape(-1)[-1]
        self._cell.write(whole)


@mutates("B-13", "test_what_is_shared_by_one_memory_is_not_written_to", "")
def what_is_shared_can_be_written_to(sim):
    """One memory for all devices, and no lock on it."""
    return Altered(sim, {}, memory=_Unlocked(sim.memory))


class _Unlocked:
    def __init__(self, memory):
        self._memory = memory

    def share(self, array, cells=()):
        shared = self._memory.share(array, cells)
        whole = loose(shared[0])
        return tuple(whole.view(type(one)) for one in shared)
