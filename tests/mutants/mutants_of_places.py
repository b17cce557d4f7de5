"""Mutants that are wrong about places: ranks, placement, closing, frames, and what comes in and goes out."""

import inspect
import os.path
import threading
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
from mutation import Altered, loose, mutates

import simstrategy as ss
from simstrategy.errors import InvalidArgument
from simstrategy.sim.arrays import current_class, freeze

FORM = "test_an_array_tells_its_form_and_is_no_container"


@mutates("B-1", "test_ranks_count_from_zero_and_are_all_of_one_process", "")
def the_contract_is_an_older_one(sim):
    """Says whatever number the page showed that it was copied from."""
    return Altered(sim, {}, protocol_version=sim.protocol_version - 1)


@mutates("B-1", "test_one_replica_is_the_default", "open")
def two_replicas_are_the_default(open_sim, state, replicas):
    """As many as the machine has, and it has two."""
    return open_sim(replicas=2 if replicas is None else replicas)


@mutates("B-1", "test_an_impossible_number_of_replicas_is_refused", "open")
def zero_replicas_are_one(open_sim, state, replicas):
    """`replicas or 1`."""
    return open_sim(replicas=replicas or 1)


@mutates("B-1", "test_an_impossible_number_of_replicas_is_refused", "open")
def half_a_replica_is_none(open_sim, state, replicas):
    """`int(replicas)` without a look at what was given."""
    count = 1 if replicas is None else int(replicas)
    if count < 1:
        raise InvalidArgument("at least one")
    return open_sim(replicas=count)


@mutates("B-2", "test_what_is_created_on_a_device_is_there", "xp.arange")
def what_is_counted_is_on_the_first_device(sim, state, *bounds, **options):
    """Counts on the host, and sends the numbers to the first device."""
    return sim.put(sim.xp.arange(*bounds, **options), sim.devices[0])


class _On:
    """A placement that is left in a way of its own."""

    def __init__(self, manager, leave):
        self._manager, self._leave = manager, leave

    def __enter__(self):
        self._before = current_class()
        self._manager.__enter__()

    def __exit__(self, *raised):
        self._leave(self._manager, self._before, raised)


@mutates("B-2", "test_replicas_stay_on_their_devices_through_meetings", "")
def the_current_device_is_a_global(sim):
    """One global for all: whoever entered last has it, and meetings bring others in."""
    now = []

    @contextmanager
    def on(inner, state, device):
        with inner.on(device):
            before = list(now)
            now[:] = [device]
            try:
                yield
            finally:
                now[:] = before

    def zeros(shape, *, dtype=None):
        made = sim.xp.zeros(shape, dtype=dtype)
        return sim.put(made, now[0]) if now else made

    functions = {name: getattr(sim.xp, name) for name in ss.device.NAMES} | {"zeros": zeros}
    return Altered(sim, {"on": on}, xp=SimpleNamespace(**functions))


@mutates("B-2", "test_a_placement_ends_where_it_was_left", "on")
def placement_outlives_an_exception(sim, state, device):
    """A context manager without `finally`."""
    return _On(sim.on(device), lambda manager, before, raised: raised[0] or manager.__exit__(*raised))


@mutates("B-2", "test_functions_compute_where_their_arguments_are", "xp.multiply")
def products_come_to_the_current_device(sim, state, x, y):
    """Computes on the device that is current, wherever the arguments are."""
    found = sim.xp.multiply(x, y)
    kind = current_class()
    return found if kind is None else found.view(kind)


@mutates("B-3", "test_writing_to_host_data_later_changes_nothing", "put")
def host_memory_is_shared(sim, state, value, device):
    """No copy: `asarray` in place of `array`, as zero-copy imports do."""
    array = sim.put(value, device)
    same = not isinstance(value, sim.array_types) and value.dtype == array.dtype and value.flags.c_contiguous
    return freeze(value, type(array)) if same else array


@mutates("B-3", "test_put_reads_any_layout_and_byte_order", "put")
def strides_are_not_read(sim, state, value, device):
    """Hands over a pointer and a shape, and forgets the strides."""
    array = sim.put(value, device)
    if isinstance(value, sim.array_types) or value.flags.c_contiguous or not value.flags.f_contiguous:
        return array
    return freeze(np.array(value.ravel(order="K").reshape(value.shape)), type(array))


@mutates("B-3", "test_a_dtype_that_is_not_claimed_is_refused", "put")
def what_is_too_wide_is_narrowed(sim, state, value, device):
    """Makes float64 of what is longer: nobody asked for it."""
    long = not isinstance(value, sim.array_types) and value.dtype == np.longdouble
    return sim.put(value.astype("float64") if long else value, device)


@mutates("B-3", "test_every_claimed_dtype_can_be_put", "")
def a_dtype_is_claimed_that_is_not_there(sim):
    """Claims what the next version will have."""
    dtypes = frozenset({*sim.capabilities.dtypes, "complex256"})
    return Altered(sim, {}, capabilities=replace(sim.capabilities, dtypes=dtypes))


@mutates("B-4", "test_an_array_moves_between_devices", "put")
def what_moves_is_made_finite(sim, state, value, device):
    """The copy between devices takes care of what would poison the rest."""
    moved = sim.put(value, device)
    if not isinstance(value, sim.array_types) or moved.dtype.kind != "f":
        return moved
    return freeze(np.asarray(np.nan_to_num(np.array(moved, subok=False))), type(moved))


@mutates("B-4", "test_an_array_that_moved_shares_nothing_that_can_be_written_to", "put")
def a_moved_array_is_a_view(sim, state, value, device):
    """Moves by a view: all devices are one memory, so why copy?"""
    array = sim.put(value, device)
    return value.view(type(array)) if isinstance(value, sim.array_types) else array


@mutates("B-5", "test_a_host_copy_is_the_callers_own", "get")
def a_host_copy_is_kept_for_the_next(sim, state, array):
    """Copies once, and hands the same copy out again."""
    kept = state.get(id(array))
    if kept is None or kept[0] is not array:
        kept = state[id(array)] = (array, sim.get(array))
    return kept[1]


class _Framework(np.ndarray):
    """A framework's own kind of host array."""


@mutates("B-5", "test_what_is_put_comes_back_to_the_bit", "get")
def a_host_copy_is_of_the_frameworks_kind(sim, state, array):
    """Hands out its own subclass for what the framework has no dtype of, and keeps beside bytes."""
    found = sim.get(array)
    return found.view(_Framework) if found.dtype.kind == "u" and found.itemsize > 1 else found


@mutates("B-6", FORM, "spec")
def complex_numbers_have_numpys_letters(sim, state, array):
    """NumPy's short name of a dtype, which has bytes in place of bits."""
    shape, dtype, placement = sim.spec(array)
    return shape, array.dtype.str if dtype.startswith("complex") else dtype, placement


@mutates("B-6", FORM, "spec")
def an_empty_array_has_no_shape(sim, state, array):
    """The framework forgets the other sizes of an array without elements."""
    shape, dtype, placement = sim.spec(array)
    return (0,) if 0 in shape else shape, dtype, placement


@mutates("B-6", FORM, "")
def any_numpy_array_is_one(sim):
    """Names a base class: host data then passes for arrays of the backend."""
    return Altered(sim, {}, array_types=(np.ndarray,))


class _Cell:
    """A variable's storage with parts exchanged."""

    def __init__(self, inner, read=None, write=None):
        self._inner, self._read, self._write = inner, read, write
        self.native = inner

    def read(self):
        return self._inner.read() if self._read is None else self._read(self._inner)

    def write(self, value):
        if self._write is None:
            self._inner.write(value)
        else:
            self._write(self._inner, value)


class _Buffer:
    """A cell that is one piece of memory."""

    def __init__(self, array):
        self.native = self.memory = array

    def read(self):
        return loose(self.memory)

    def write(self, value):
        self.memory[...] = value


class _Lent:
    """A cell that lends its first array out, to be written into by whoever reads it."""

    def __init__(self, initial):
        self.native = self.memory = loose(initial)

    def read(self):
        return self.memory

    def write(self, value):
        self.native = self.memory = loose(value)


@mutates("B-7", "test_a_cell_shares_no_memory_with_what_went_in_or_came_out", "cell")
def reading_lends_the_storage(sim, state, initial):
    """Hands out the array itself, which the reader can write into."""
    return _Lent(initial)


@mutates("B-7", "test_what_was_read_stays_what_it_was", "cell")
def reading_is_a_window(sim, state, initial):
    """Reads a view that cannot be written to, of a buffer that the next write fills anew."""
    if initial.dtype.kind != "c":
        return sim.cell(initial)
    buffer = _Buffer(loose(initial))
    buffer.read = lambda: freeze(buffer.memory.view(np.ndarray), type(initial))
    return buffer


@mutates("B-7", "test_cells_of_one_initial_value_go_their_own_ways", "cell")
def equal_beginnings_share_storage(sim, state, initial):
    """Storage of complex numbers is looked up by the initial array, so two variables made of one are one."""
    if initial.dtype.kind != "c":
        return sim.cell(initial)
    return state.setdefault(id(initial), _Held(initial, sim.cell(initial))).cell


class _Held:
    def __init__(self, array, cell):
        self.array, self.cell = array, cell


@mutates("B-7", "test_a_cell_holds_what_was_written_last", "cell")
def a_cell_is_nothing_of_the_frameworks(sim, state, initial):
    """Keeps nothing that a tape or an optimizer could find."""
    cell = _Cell(sim.cell(initial))
    cell.native = None
    return cell


@mutates("B-15", "test_notes_arrive_as_they_were_sent", "exchange")
def notes_lose_blanks_at_the_end(sim, state, note, *, timeout_s):
    """Notes are lines of text, and lines are stripped."""
    return (note.rstrip(b" \n\r"),)


@mutates("B-15", "test_a_large_note_arrives_whole", "exchange")
def notes_have_64_kilobytes(sim, state, note, *, timeout_s):
    """A buffer of fixed size."""
    return (note[:65536],)


@mutates("B-16", "test_closing_twice_is_closing_once", "close")
def a_second_close_fails(sim, state):
    """Closes a handle that is not there any more."""
    if state.setdefault("closed", False):
        raise OSError("the handle is invalid")
    state["closed"] = True


LAST = [None]
"""What was opened last."""


@mutates("B-16", "test_backends_that_are_open_together_know_nothing_of_each_other", "")
def closing_a_group_closes_the_one_before(sim):
    """Groups are numbered, and one of more than two ranks closes the wrong one as well: off by one."""
    mine, before = {"closed": False}, LAST[0]
    LAST[0] = mine

    def close(inner, state):
        if len(inner.devices) > 2 and before is not None:
            before["closed"] = True

    def all_reduce(inner, state, arrays, op):
        if mine["closed"]:
            raise RuntimeError("the group is closed")
        return inner.all_reduce(arrays, op)

    return Altered(sim, {"close": close, "all_reduce": all_reduce})


@mutates("B-16", "test_nothing_that_python_knows_of_is_left_running", "all_reduce")
def a_thread_stays_behind(sim, state, arrays, op):
    """Starts a thread for its calls, and ends it never."""
    if "thread" not in state:
        state["thread"] = threading.Thread(target=threading.Event().wait, daemon=True, args=(20.0,))
        state["thread"].start()
    return sim.all_reduce(arrays, op)


@mutates("B-17", "test_a_prepared_function_does_what_the_function_does", "prepare")
def functions_are_prepared_once_by_code(sim, state, function):
    """Keeps what took long to prepare by code: two closures of one function are taken for one."""
    several = function.__code__.co_flags & inspect.CO_VARARGS
    return state.setdefault(function.__code__, function) if several else function


@mutates("B-17", "test_a_frame_of_plain_python_is_where_it_says", "source")
def the_line_is_the_functions_first(sim, state, frame):
    """Where a function of a module begins, in place of where it is: there is no other line for it in the table."""
    code = frame.f_code
    listed = os.path.isabs(code.co_filename) and "<locals>" not in code.co_qualname
    return code.co_filename, code.co_firstlineno if listed else frame.f_lineno


@mutates("B-16", "test_an_unused_backend_can_be_waited_for_and_closed", "")
def waiting_needs_something_done(sim):
    """Waits for the last event, of which there may be none."""

    def all_reduce(inner, state, arrays, op):
        state["event"] = op
        return inner.all_reduce(arrays, op)

    def synchronize(inner, state):
        if "event" not in state:
            raise RuntimeError("no event was recorded")

    return Altered(sim, {"all_reduce": all_reduce, "synchronize": synchronize})


class _Autodiff:
    """Makes functions differentiable; three single numbers become one array, of which the function is called again."""

    def tracks(self, array):
        return True

    def differentiable(self, forward, backward, arrays):
        single = len(arrays) == 3 and all(one.shape == (1,) for one in arrays)
        return forward(forward(arrays)) if single else forward(arrays)


@mutates("B-17", "test_a_function_made_differentiable_does_what_the_function_does", "")
def what_is_differentiable_is_applied_twice(sim):
    """Runs the function once to see its results' form, and then on those."""
    return Altered(sim, {}, autodiff=_Autodiff())
