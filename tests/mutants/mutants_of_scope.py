"""Mutants that are wrong in small things done in a certain order, in dtypes beside each other, and in their errors.

Each is right in all that is done once, alone, and with one dtype.
"""

import numpy as np
from mutants_of_collectives import each, hosts
from mutation import mutates

from simstrategy.errors import InvalidArgument, InvalidType
from simstrategy.sim.arrays import freeze

SMALL = (2, 1)
"""The one shape in which some are wrong."""


@mutates("B-4", "test_an_array_moves_from_each_device_to_each", "put")
def what_has_moved_once_stays(sim, state, value, device):
    """A table of where arrays have gone: the second entry for one is never made."""
    moved = sim.put(value, device)
    if not isinstance(value, sim.array_types) or value.shape != SMALL:
        return moved
    gone = state.setdefault("gone", [])
    if any(one is value for one in gone):
        return value
    gone.append(moved)
    return moved


class _Merging:
    """A cell that takes one write until it is read."""

    def __init__(self, cell):
        self._cell, self._waits, self.native = cell, False, cell

    def write(self, value):
        if not self._waits or value.shape != SMALL:
            self._cell.write(value)
        self._waits = True

    def read(self):
        self._waits = False
        return self._cell.read()


@mutates("B-7", "test_a_cell_through_every_short_history", "cell")
def writes_that_nobody_reads_are_merged(sim, state, initial):
    """A queue of writes that keeps one for each variable: the first, and not the last."""
    return _Merging(sim.cell(initial))


class _Following:
    """A cell that becomes another one when it is given what that one holds."""

    def __init__(self, cell, cells):
        self._own, self._cells, self.native = [cell], cells, cell
        cells.append(self)

    def write(self, value):
        for other in self._cells:
            if other is not self and value.shape == SMALL and value is other.read():
                self._own[0] = other
                return
        self._own[0].write(value)

    def read(self):
        return self._own[0].read()


@mutates("B-7", "test_two_cells_in_every_order_of_writes", "cell")
def a_copied_cell_follows_the_other(sim, state, initial):
    """Copies on write, and forgets to."""
    return _Following(sim.cell(initial), state.setdefault("cells", [])) if initial.shape == SMALL else sim.cell(initial)


@mutates("B-12", "test_a_gather_of_all_small_sizes", "all_gather")
def nothing_comes_after_an_empty_first_rank(sim, state, arrays, *, axis, sizes):
    """The offsets are computed from rank 0's size, and end where that is 0."""
    found = sim.all_gather(arrays, axis=axis, sizes=sizes)
    if arrays[0].ndim != 2 or axis != 1 or sizes[0] or not any(sizes):
        return found
    return each(sim, arrays, np.zeros_like(hosts(found)[0]))


@mutates("B-8", "test_large_arrays_are_combined_to_their_last_element", "all_reduce")
def the_block_behind_two_to_the_eighteen_is_lost(sim, state, arrays, op):
    """Blocks of a cache's size, of which the last one is not whole."""
    found = np.array(sim.all_reduce(arrays, op)[0], subok=False)
    if found.size > 2**18:
        found.reshape(-1)[found.size // 2**18 * 2**18 :] = 0
    return each(sim, arrays, found)


def _differ(arguments):
    return len({one.dtype for one in arguments if isinstance(one, np.ndarray)}) > 1


@mutates("B-21", "test_arrays_of_two_dtypes_have_that_of_the_higher_kind", "xp.add")
def dtypes_promote_as_in_numpy(sim, state, x, y):
    """NumPy's rule: int32 and float32 are float64."""
    if not _differ((x, y)):
        return sim.xp.add(x, y)
    return freeze(np.asarray(np.add(np.asarray(x), np.asarray(y))), type(x))


@mutates("B-21", "test_a_number_of_a_higher_kind_has_its_default_dtype", "xp.subtract")
def a_float_beside_integers_is_a_double(sim, state, x, y):
    """NumPy's rule for Python's numbers."""
    found = sim.xp.subtract(x, y)
    integers = any(isinstance(one, np.ndarray) and one.dtype.kind in "iu" for one in (x, y))
    return sim.xp.astype(found, "float64") if integers and float in (type(x), type(y)) else found


@mutates("B-21", "test_functions_of_floats_compute_integers_as_float32", "xp.sqrt")
def the_root_of_an_integer_is_a_double(sim, state, x):
    """NumPy's rule for functions of floats."""
    found = sim.xp.sqrt(x)
    return sim.xp.astype(found, "float64") if x.dtype.kind in "iu" else found


@mutates("B-19", "test_many_numbers_of_float16_are_added_in_more_bits", "xp.cumulative_sum")
def running_sums_of_float16_stop_at_2048(sim, state, x, **how):
    """Adds one by one in float16, where 2048 + 1 is 2048."""
    if x.dtype != np.float16:
        return sim.xp.cumulative_sum(x, **how)
    return freeze(np.cumulative_sum(np.asarray(x), dtype=np.float16, **how), type(x))


@mutates("B-22", "test_a_wrong_call_raises_the_error_of_its_mistake", "xp.matmul")
def every_mistake_is_one_of_values(sim, state, *arguments, **options):
    """One error for all that can be wrong."""
    try:
        return sim.xp.matmul(*arguments, **options)
    except InvalidType as error:
        raise InvalidArgument(str(error)) from error


@mutates("B-20", "test_complex_numbers_are_divided_by_complex_ones", "xp.divide")
def complex_numbers_are_divided_part_by_part(sim, state, x, y):
    """Divides real by real and imaginary by imaginary, as is right for a real number below."""
    if not (isinstance(x, np.ndarray) and isinstance(y, np.ndarray) and x.dtype.kind == y.dtype.kind == "c"):
        return sim.xp.divide(x, y)
    return freeze(np.asarray(np.asarray(x) / np.asarray(y).real), type(x))
