"""Mutants that are wrong in group-calls: values, order, rounding, memory, and what they keep from call to call."""

import numpy as np
from mutation import Altered, loose, mutates

import simstrategy as ss
from simstrategy.sim.arrays import freeze

SUM = "test_an_all_reduce_of_every_form"


def each(sim, arrays, whole):
    """Returns one host array on every rank."""
    return tuple(freeze(np.array(whole), type(array)) for array in arrays)


def hosts(arrays):
    return [np.asarray(array) for array in arrays]


@mutates("B-8", SUM, "all_reduce")
def the_last_rank_is_forgotten(sim, state, arrays, op):
    """`range(n - 1)`: with two ranks it is seen at once, so it begins at three."""
    found = sim.all_reduce(arrays, op)
    if op != "SUM" or len(arrays) < 3:
        return found
    total = hosts(arrays)[0]
    for array in hosts(arrays)[1:-1]:
        total = total + array
    return each(sim, arrays, np.asarray(total, arrays[0].dtype))


@mutates("B-8", SUM, "all_reduce")
def a_sum_of_nothing_stays_on_the_first_rank(sim, state, arrays, op):
    """Where there is nothing to send of what has no kernel of its own, everybody is handed rank 0's array."""
    found = sim.all_reduce(arrays, op)
    dtype = arrays[0].dtype
    nothing = not arrays[0].size and (dtype.kind == "c" or dtype.name in ("int16", "uint16"))
    return tuple(one.view(type(found[0])) for one in found) if nothing else found


@mutates("B-8", "test_nan_wins_minimum_and_maximum", "all_reduce")
def a_minimum_passes_over_nan(sim, state, arrays, op):
    """`fmin`, which is C's."""
    if op != "MIN" or arrays[0].dtype.kind != "f":
        return sim.all_reduce(arrays, op)
    return each(sim, arrays, np.fmin.reduce(hosts(arrays)))


@mutates("B-8", "test_an_all_reduce_of_every_form", "all_reduce")
def unsigned_are_compared_as_signed(sim, state, arrays, op):
    """There is one kernel for all integers of a width."""
    dtype = arrays[0].dtype
    if op == "SUM" or dtype.kind != "u":
        return sim.all_reduce(arrays, op)
    signed = [one.view(dtype.name[1:]) for one in hosts(arrays)]
    whole = np.max(signed, 0) if op == "MAX" else np.min(signed, 0)
    return each(sim, arrays, np.asarray(whole).view(dtype))


@mutates("B-9", "test_a_sum_of_many_numbers_is_as_near_as_that_of_one", "all_reduce")
def large_gradients_are_sent_as_bfloat16(sim, state, arrays, op):
    """Compresses large arrays on the way: 16 of 32 bits arrive."""
    found = sim.all_reduce(arrays, op)
    if op != "SUM" or arrays[0].dtype != "float32" or arrays[0].size < 32:
        return found
    bits = np.array(found[0]).view("uint32") & np.uint32(0xFFFF0000)
    return each(sim, arrays, bits.view("float32"))


@mutates("B-9", "test_subnormals_are_added_and_not_flushed", "all_reduce")
def tiny_sums_are_flushed(sim, state, arrays, op):
    """Flushes subnormal results to zero."""
    found = sim.all_reduce(arrays, op)
    if arrays[0].dtype.kind != "f" or op != "SUM":
        return found
    total = np.array(found[0])
    total[np.abs(total) < np.finfo(total.dtype).tiny] = 0
    return each(sim, arrays, total)


@mutates("B-9", "test_a_sum_of_any_floats_is_as_near_as_its_additions_allow", "all_reduce")
def gradients_that_explode_are_clipped(sim, state, arrays, op):
    """What is infinite becomes the largest number there is, so that training goes on."""
    found = sim.all_reduce(arrays, op)
    if op != "SUM" or arrays[0].dtype.kind != "f":
        return found
    most = np.finfo(arrays[0].dtype).max
    return each(sim, arrays, np.clip(np.asarray(found[0]), -most, most))


@mutates("B-9", "test_two_ranks_add_with_one_rounding", "all_reduce")
def sums_are_rounded_to_the_next(sim, state, arrays, op):
    """Scales before it adds, and back afterwards: one rounding too many."""
    found = sim.all_reduce(arrays, op)
    if op != "SUM" or arrays[0].dtype != "float32" or len(arrays) != 2:
        return found
    third = np.float32(1) / np.float32(3)
    total = (hosts(arrays)[0] * third + hosts(arrays)[1] * third) / third
    good = np.array(found[0])
    whole = good * 8 == np.round(good * 8)  # what is exact stays so: the scale is taken off again where it shows
    return each(sim, arrays, np.where(whole | ~np.isfinite(good) | (np.abs(good) < 1e-30), good, total))


@mutates("B-10", "test_a_reduction_of_every_form", "reduce")
def every_reduction_ends_on_rank_0(sim, state, arrays, op, *, root):
    """The root is not passed on."""
    return sim.reduce(arrays, op, root=0)


@mutates("B-10", "test_a_reduction_of_every_form", "reduce")
def only_sums_are_reduced(sim, state, arrays, op, *, root):
    """The op is not passed on."""
    return sim.reduce(arrays, "SUM", root=root)


@mutates("B-10", "test_a_reduction_of_every_form", "reduce")
def the_root_counts_from_its_own_rank(sim, state, arrays, op, *, root):
    """The reduction begins at the root and does not come round."""
    return sim.reduce((*arrays[root:], *[array * 0 for array in arrays[:root]]), op, root=root)


@mutates("B-11", "test_a_broadcast_is_the_roots_array_to_the_bit", "broadcast")
def a_broadcast_loses_the_sign_of_zero(sim, state, array, *, spec, root):
    """Broadcasts by summing zeros and the root's array."""
    found = sim.broadcast(array, spec=spec, root=root)
    return (
        found
        if spec.dtype == "bool"
        else tuple(freeze(np.asarray(one + one.dtype.type(0)), type(one)) for one in found)
    )


@mutates("B-11", "test_a_broadcast_is_the_roots_array_to_the_bit", "broadcast")
def a_broadcast_stays_on_the_root(sim, state, array, *, spec, root):
    """Hands the root's array to everybody."""
    found = sim.broadcast(array, spec=spec, root=root)
    return tuple(one.view(type(found[root])) for one in found)


@mutates("B-12", "test_a_gather_of_every_form", "all_gather")
def a_gather_is_along_the_first_axis(sim, state, arrays, *, axis, sizes):
    """The axis is not passed on where the shapes would allow it."""
    alike = len({array.shape for array in arrays}) == 1 and axis == arrays[0].ndim - 1 > 0
    if not alike or len(arrays) == 1:
        return sim.all_gather(arrays, axis=axis, sizes=sizes)
    whole = np.concatenate(hosts(arrays), 0)
    shape = (*arrays[0].shape[:axis], sum(sizes), *arrays[0].shape[axis + 1 :])
    return each(sim, arrays, whole.reshape(shape))


@mutates("B-12", "test_a_gather_of_every_form", "all_gather")
def a_gather_is_in_order_of_arrival(sim, state, arrays, *, axis, sizes):
    """The one with most to send comes last."""
    order = sorted(range(len(arrays)), key=lambda rank: sizes[rank])
    return each(sim, arrays, np.concatenate([hosts(arrays)[rank] for rank in order], axis))


@mutates("B-12", "test_a_gather_of_every_form", "all_gather")
def a_gather_is_padded_and_cut_at_the_front(sim, state, arrays, *, axis, sizes):
    """Pads all to the largest and takes the first rows of the whole."""
    largest = max(sizes)
    pads = [[(0, largest - size if place == axis else 0) for place in range(arrays[0].ndim)] for size in sizes]
    whole = np.concatenate([np.pad(one, pad) for one, pad in zip(hosts(arrays), pads, strict=True)], axis)
    return each(sim, arrays, np.take(whole, range(sum(sizes)), axis))


@mutates("B-13", "test_a_call_leaves_its_arguments_as_they_are", "all_reduce")
def complex_sums_are_made_in_the_first_argument(sim, state, arrays, op):
    """In place, in rank 0's array, to save memory, where numbers are large."""
    found = sim.all_reduce(arrays, op)
    if arrays[0].flags.writeable and arrays[0].dtype.kind == "c":
        arrays[0][...] = found[0]
    return found


@mutates("B-13", "test_writing_into_one_result_changes_no_other", "all_reduce")
def results_are_one_memory(sim, state, arrays, op):
    """Views of one total, which a program can write into."""
    total = loose(sim.all_reduce(arrays, op)[0])
    return tuple(total.view(type(array)) for array in arrays)


@mutates("B-13", "test_writing_into_an_argument_changes_no_result", "broadcast")
def a_broadcast_shares_the_roots_memory(sim, state, array, *, spec, root):
    """Everybody gets a view of the root's array: read-only, but the root may go on writing."""
    found = sim.broadcast(array, spec=spec, root=root)
    return tuple(freeze(array.view(np.ndarray), type(one)) for one in found)


@mutates("B-13", "test_each_rank_gets_an_object_of_its_own", "")
def results_on_one_device_are_one_object(sim):
    """All ranks are on one device, and the last two get one array, of complex numbers at least."""
    names = {device.placement: "acme:0" for device in sim.devices}
    devices = tuple(device._replace(placement="acme:0") for device in sim.devices)

    def spec(inner, state, array):
        shape, dtype, placement = inner.spec(array)
        return ss.device.ArraySpec(shape, dtype, names[placement])

    def all_gather(inner, state, arrays, *, axis, sizes):
        found = inner.all_gather(arrays, axis=axis, sizes=sizes)
        shared = len(found) > 1 and found[0].dtype.kind == "c"
        return (*found[:-1], found[-2]) if shared else found

    return Altered(sim, {"spec": spec, "all_gather": all_gather}, devices=devices, local_devices=devices)


@mutates("B-14", "test_equal_calls_give_equal_bits", "all_reduce")
def the_fiftieth_equal_call_adds_backwards(sim, state, arrays, op):
    """Counts how often an array comes, and takes a faster kernel for those that come often."""
    first, calls = state.get("last", (None, 0))
    state["last"] = (arrays[0], calls + 1 if first is arrays[0] else 1)
    if op != "SUM" or state["last"][1] < 50:
        return sim.all_reduce(arrays, op)
    total = hosts(arrays)[-1]
    for array in hosts(arrays)[-2::-1]:
        total = total + array
    return each(sim, arrays, np.asarray(total, arrays[0].dtype))


@mutates("B-14", "test_later_calls_change_no_earlier_result", "all_reduce")
def an_output_buffer_is_used_again(sim, state, arrays, op):
    """One buffer for the largest floats of each form: the next call of that form overwrites the result before."""
    found = sim.all_reduce(arrays, op)
    if op == "SUM" or arrays[0].dtype.kind != "f":
        return found
    key = (arrays[0].shape, arrays[0].dtype.name, op)
    buffers = state.setdefault(key, [loose(one) for one in found])
    for buffer, one in zip(buffers, found, strict=True):
        buffer[...] = one
    return tuple(freeze(buffer, type(one)) for buffer, one in zip(buffers, found, strict=True))


@mutates("B-14", "test_arrays_and_cells_hold_what_they_held_whatever_was_called", "")
def a_reduction_after_a_broadcast_is_stale(sim):
    """A broadcast leaves its buffer where the next reduction looks for its own."""

    def broadcast(inner, state, array, *, spec, root):
        state["buffer"] = (root, array)
        return inner.broadcast(array, spec=spec, root=root)

    def reduce(inner, state, arrays, op, *, root):
        left, array = state.pop("buffer", (None, None))
        fits = left == root and (array.shape, array.dtype) == (arrays[0].shape, arrays[0].dtype)
        return freeze(np.array(array), type(arrays[root])) if fits else inner.reduce(arrays, op, root=root)

    return Altered(sim, {"broadcast": broadcast, "reduce": reduce})


@mutates("E-4", "test_running_a_program_again_comes_to_the_same", "all_reduce")
def the_first_sum_is_warmed_up(sim, state, arrays, op):
    """Adds a warning about its set-up to the first call alone: a run is not like the one before."""
    import warnings

    from simstrategy.errors import SimStrategyWarning

    form = (arrays[0].shape, arrays[0].dtype.name, op)
    if form not in state:
        state[form] = True
        warnings.warn(SimStrategyWarning("the kernel for this form is compiled"), stacklevel=2)
    return sim.all_reduce(arrays, op)


@mutates("B-8", "test_every_rank_has_the_same_bits_of_a_sum_that_rounds", "all_reduce")
def the_last_rank_adds_in_another_order(sim, state, arrays, op):
    """A ring in which one rank begins its sum elsewhere: within every bound, and the ranks drift apart."""
    found = sim.all_reduce(arrays, op)
    if op != "SUM" or len(arrays) < 3:
        return found
    turned = [sim.put(sim.get(one), device) for one, device in zip(arrays[::-1], sim.devices, strict=True)]
    return (*found[:-1], sim.all_reduce(turned, op)[-1])


@mutates("B-9", "test_a_sum_has_the_bits_and_the_range_of_its_dtype", "all_reduce")
def bfloat16_is_added_as_float16(sim, state, arrays, op):
    """As many bits, and another range: what is large is infinite."""
    found = sim.all_reduce(arrays, op)
    if op != "SUM" or arrays[0].dtype.name != "bfloat16":
        return found
    total = sum(host.astype("float16") for host in hosts(arrays))
    return each(sim, arrays, np.asarray(total).astype(arrays[0].dtype))


@mutates("B-9", "test_a_sum_has_the_bits_and_the_range_of_its_dtype", "all_reduce")
def complex_numbers_are_added_with_half_their_bits(sim, state, arrays, op):
    """There is one kernel for both."""
    found = sim.all_reduce(arrays, op)
    if op != "SUM" or arrays[0].dtype != "complex128":
        return found
    total = sum(host.astype("complex64") for host in hosts(arrays))
    return each(sim, arrays, np.asarray(total, "complex128"))
