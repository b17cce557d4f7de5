"""Animals that are wrong about places: ranks, placement, closing, frames, and what comes in and goes out."""

import inspect
import threading
from contextlib import nullcontext

import numpy as np
from zoo_animals import Altered, loose, opened, zoo_keeper

from simstrategy.errors import InvalidArgument
from simstrategy.sim.arrays import _PLACED, current_class, freeze


@zoo_keeper("B-1", "test_ranks_count_from_zero_and_are_all_of_one_process", "")
def ranks_from_one(sim):
    """Ranks as people count them."""
    devices = tuple(device._replace(rank=device.rank + 1) for device in sim.devices)
    return Altered(sim, {}, devices=devices, local_devices=devices)


@zoo_keeper("B-1", "test_an_impossible_number_of_replicas_is_refused", "open")
def zero_replicas_are_one(open_sim, state, replicas):
    """`replicas or 1`."""
    return open_sim(replicas=replicas or 1)


@zoo_keeper("B-1", "test_an_impossible_number_of_replicas_is_refused", "open")
def half_a_replica_is_none(open_sim, state, replicas):
    """`int(replicas)` without a look at what was given."""
    count = 1 if replicas is None else int(replicas)
    if count < 1:
        raise InvalidArgument("at least one")
    return open_sim(replicas=count)


@zoo_keeper("B-2", "test_what_is_created_on_a_device_is_there", "on")
def placement_is_ignored(sim, state, device):
    """A context manager that does nothing, because on one machine it made no difference."""
    return nullcontext()


class _On:
    """A placement that is left in a way of its own."""

    def __init__(self, manager, leave):
        self._manager, self._leave = manager, leave

    def __enter__(self):
        self._before = current_class()
        self._manager.__enter__()

    def __exit__(self, *raised):
        self._leave(self._manager, self._before, raised)


@zoo_keeper("B-2", "test_a_placement_ends_where_it_was_left", "on")
def placement_goes_to_the_default(sim, state, device):
    """On leaving, the first device is chosen, and not the one before."""

    def leave(manager, before, raised):
        manager.__exit__(*raised)
        if before is not None and before.rank:
            # In place of what is on top, so that leaving stays even.
            _PLACED.set((type(sim.put(np.zeros(1), sim.devices[0])), _PLACED.get()[1]))

    return _On(sim.on(device), leave)


@zoo_keeper("B-2", "test_an_exception_leaves_a_placement_too", "on")
def placement_outlives_an_exception(sim, state, device):
    """A context manager without `finally`."""
    return _On(sim.on(device), lambda manager, before, raised: raised[0] or manager.__exit__(*raised))


@zoo_keeper("B-2", "test_functions_compute_where_their_arguments_are", "xp.multiply")
def products_come_to_the_current_device(sim, state, x, y):
    """Computes on the device that is current, wherever the arguments are."""
    found = sim.xp.multiply(x, y)
    kind = current_class()
    return found if kind is None else found.view(kind)


@zoo_keeper("B-3", "test_writing_to_host_data_later_changes_nothing", "put")
def host_memory_is_shared(sim, state, value, device):
    """No copy: `asarray` in place of `array`, as zero-copy imports do."""
    array = sim.put(value, device)
    same = not isinstance(value, sim.array_types) and value.dtype == array.dtype and value.flags.c_contiguous
    return freeze(value, type(array)) if same else array


@zoo_keeper("B-3", "test_put_reads_any_layout_and_byte_order", "put")
def strides_are_not_read(sim, state, value, device):
    """Hands over a pointer and a shape, and forgets the strides."""
    array = sim.put(value, device)
    if isinstance(value, sim.array_types) or value.flags.c_contiguous or not value.flags.f_contiguous:
        return array
    return freeze(np.array(value.ravel(order="K").reshape(value.shape)), type(array))


@zoo_keeper("B-3", "test_put_reads_any_layout_and_byte_order", "put")
def bytes_are_taken_as_ours(sim, state, value, device):
    """Hands over a pointer to numbers of the other byte order."""
    swapped = not isinstance(value, sim.array_types) and not value.dtype.isnative
    return sim.put(value.view(value.dtype.newbyteorder("=")) if swapped else value, device)


@zoo_keeper("B-3", "test_every_claimed_dtype_can_be_put", "put")
def large_unsigned_become_signed(sim, state, value, device):
    """The framework has no uint64, and nobody said so in the capabilities."""
    return sim.put(value.astype("int64") if value.dtype == "uint64" else value, device)


@zoo_keeper("B-4", "test_an_array_moves_between_devices", "put")
def a_moved_array_stays(sim, state, value, device):
    """Takes an array of its own for one that is where it should be."""
    return value if isinstance(value, sim.array_types) else sim.put(value, device)


@zoo_keeper("B-4", "test_an_array_that_moved_shares_nothing_that_can_be_written_to", "put")
def a_moved_array_is_a_view(sim, state, value, device):
    """Moves by a view: all devices are one memory, so why copy?"""
    array = sim.put(value, device)
    return value.view(type(array)) if isinstance(value, sim.array_types) else array


@zoo_keeper("B-5", "test_a_host_copy_is_the_callers_own", "get")
def get_returns_the_memory(sim, state, array):
    """`numpy()` of a CPU tensor: a view."""
    view = array.view(np.ndarray)
    if not view.flags.writeable:
        view.flags.writeable = True
    return view


@zoo_keeper("B-5", "test_what_is_put_comes_back_to_the_bit", "get")
def the_sign_of_zero_is_lost(sim, state, array):
    """Adds 0.0 to make a copy."""
    found = sim.get(array)
    return found + found.dtype.type(0) if found.dtype.kind == "f" else found


@zoo_keeper("B-5", "test_what_is_put_comes_back_to_the_bit", "get")
def subnormals_are_lost_on_the_way_out(sim, state, array):
    """The copy goes through a unit that flushes to zero."""
    found = sim.get(array)
    if found.dtype.kind == "f":
        found[np.abs(found) < np.finfo(found.dtype).tiny] = 0
    return found


@zoo_keeper("B-6", "test_a_spec_tells_shape_dtype_and_place", "spec")
def bool_is_called_boolean(sim, state, array):
    """The framework's own name of a dtype."""
    shape, dtype, placement = sim.spec(array)
    return shape, "boolean" if dtype == "bool" else dtype, placement


@zoo_keeper("B-6", "test_a_spec_tells_shape_dtype_and_place", "spec")
def an_empty_array_has_no_shape(sim, state, array):
    """The framework forgets the other sizes of an array without elements."""
    shape, dtype, placement = sim.spec(array)
    return (0,) if 0 in shape else shape, dtype, placement


@zoo_keeper("B-6", "test_an_array_is_of_the_named_types_and_no_container", "")
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


@zoo_keeper("B-7", "test_a_cell_is_no_alias_of_what_it_was_given", "cell")
def a_cell_keeps_its_initial_array(sim, state, initial):
    """Keeps the array that it was given, in place of a copy."""
    return _Buffer(initial if initial.flags.writeable else loose(initial))


@zoo_keeper("B-7", "test_what_was_read_stays_what_it_was", "cell")
def reading_gives_the_buffer(sim, state, initial):
    """Reads a view of the buffer that the next write fills anew."""
    buffer = _Buffer(loose(initial))
    buffer.read = lambda: buffer.memory
    return buffer


@zoo_keeper("B-7", "test_cells_of_one_initial_value_go_their_own_ways", "cell")
def equal_beginnings_share_storage(sim, state, initial):
    """Storage is looked up by the initial array, so two variables made of one are one."""
    return state.setdefault(id(initial), _Held(initial, sim.cell(initial))).cell


class _Held:
    def __init__(self, array, cell):
        self.array, self.cell = array, cell


@zoo_keeper("B-7", "test_a_cell_holds_what_was_written_last", "cell")
def an_equal_beginning_is_no_change(sim, state, initial):
    """Skips a write whose first element is what is held there already."""

    def write(inner, value):
        if not value.size or value.reshape(-1)[0] != inner.read().reshape(-1)[0]:
            inner.write(value)

    return _Cell(sim.cell(initial), write=write)


@zoo_keeper("B-15", "test_notes_arrive_as_they_were_sent", "exchange")
def notes_end_at_a_zero(sim, state, note, *, timeout_s):
    """Notes are strings of C."""
    return (note.partition(b"\0")[0],)


@zoo_keeper("B-15", "test_a_large_note_arrives_whole", "exchange")
def notes_have_64_kilobytes(sim, state, note, *, timeout_s):
    """A buffer of fixed size."""
    return (note[:65536],)


@zoo_keeper("B-16", "test_closing_twice_is_closing_once", "close")
def a_second_close_fails(sim, state):
    """Closes a handle that is not there any more."""
    if state.setdefault("closed", False):
        raise OSError("the handle is invalid")
    state["closed"] = True


OPEN = set()


@zoo_keeper("B-16", "test_backends_that_are_open_together_know_nothing_of_each_other", "")
def closing_one_closes_all(sim):
    """One global group: whoever closes it, closes everybody's."""
    mark = object()
    OPEN.add(mark)

    def close(inner, state):
        OPEN.clear()

    def all_reduce(inner, state, arrays, op):
        if mark not in OPEN:
            raise RuntimeError("the group is closed")
        return inner.all_reduce(arrays, op)

    return Altered(sim, {"close": close, "all_reduce": all_reduce})


@zoo_keeper("B-16", "test_nothing_that_python_knows_of_is_left_running", "all_reduce")
def a_thread_stays_behind(sim, state, arrays, op):
    """Starts a thread for its calls, and ends it never."""
    if "thread" not in state:
        state["thread"] = threading.Thread(target=threading.Event().wait, daemon=True, args=(20.0,))
        state["thread"].start()
    return sim.all_reduce(arrays, op)


@zoo_keeper("B-17", "test_a_prepared_function_does_what_the_function_does", "prepare")
def functions_are_prepared_once_by_code(sim, state, function):
    """A cache by code: two closures of one function are taken for one."""
    return state.setdefault(function.__code__, function)


@zoo_keeper("B-17", "test_a_prepared_function_does_what_the_function_does", "prepare")
def names_of_arguments_are_lost(sim, state, function):
    """Passes what is positional."""
    return lambda *arguments, **named: function(*arguments)


@zoo_keeper("B-17", "test_a_frame_of_plain_python_is_where_it_says", "source")
def the_line_is_the_functions_first(sim, state, frame):
    """Where the function begins, in place of where it is."""
    return inspect.getfile(frame), frame.f_code.co_firstlineno


@zoo_keeper("B-16", "test_an_unused_backend_can_be_waited_for_and_closed", "synchronize")
def waiting_needs_something_done(sim, state):
    """Waits for the last event, of which there is none."""
    raise RuntimeError("no event was recorded")


__all__ = ["opened"]
