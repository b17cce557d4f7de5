"""Mutants that are wrong at some numbers of ranks, at some sizes and at some numbers of axes, and right at all others.

Real collectives fail there: at borders of chunks, with ranks that are no power of two, in layouts of many axes.
"""

import numpy as np
from mutants_of_collectives import each, hosts
from mutation import loose, mutates

REDUCED, GATHERED = "test_an_all_reduce_of_every_form", "test_a_gather_of_every_form"
COPIED = "test_a_transfer_of_every_form_is_a_copy"


@mutates("B-8", REDUCED, "all_reduce")
def the_last_of_five_ranks_is_left_out(sim, state, arrays, op):
    """A tree over the next smaller power of two: one rank too many is forgotten."""
    if len(arrays) != 5:
        return sim.all_reduce(arrays, op)
    return each(sim, arrays, np.asarray(sim.all_reduce((*arrays[:4], arrays[3] * 0), op)[0]))


@mutates("B-8", REDUCED, "all_reduce")
def a_ring_of_seven_sends_to_the_wrong_one(sim, state, arrays, op):
    """The ring's step divides the ranks, and 7 has no divisor: rank 0 is counted twice, rank 6 never."""
    return sim.all_reduce((*arrays[:6], arrays[0].view(type(arrays[6]))) if len(arrays) == 7 else arrays, op)


@mutates("B-8", REDUCED, "all_reduce")
def the_last_of_more_than_a_thousand_is_lost(sim, state, arrays, op):
    """Whole chunks alone are sent: of over 1,000 elements the last one keeps what rank 0 had."""
    found = sim.all_reduce(arrays, op)
    if arrays[0].size <= 1000 or len(arrays) < 2:
        return found
    whole = loose(found[0])
    whole.reshape(-1)[-1] = hosts(arrays)[0].reshape(-1)[-1]
    return each(sim, arrays, whole)


@mutates("B-8", REDUCED, "all_reduce")
def the_second_chunk_is_the_first(sim, state, arrays, op):
    """Arrays over 2**16 elements are sent in chunks, and the pointer is not moved on."""
    found = sim.all_reduce(arrays, op)
    if arrays[0].size <= 2**16:
        return found
    whole = loose(found[0])
    flat = whole.reshape(-1)
    flat[2**16 :] = flat[: flat.size - 2**16]
    return each(sim, arrays, whole)


@mutates("B-10", "test_a_reduction_of_every_form", "reduce")
def a_reduction_of_four_axes_is_transposed(sim, state, arrays, op, *, root):
    """The layout of images is exchanged on the way: channels last, and not back."""
    found = sim.reduce(arrays, op, root=root)
    if found is None or found.ndim != 4:
        return found
    turned = np.ascontiguousarray(np.transpose(np.asarray(found), (0, 3, 1, 2)))
    return turned.reshape(found.shape).view(type(found))


@mutates("B-11", "test_a_broadcast_of_every_form", "broadcast")
def a_broadcast_of_views_sends_their_memory(sim, state, array, *, spec, root):
    """What is sent is the memory in its own order: of a transposed view the order of another array."""
    found = sim.broadcast(array, spec=spec, root=root)
    if array.flags.c_contiguous or array.ndim < 3:
        return found
    memory = np.asarray(array).ravel(order="K").reshape(array.shape)
    return each(sim, found, memory)


@mutates("B-12", GATHERED, "all_gather")
def a_gather_of_squares_is_along_the_first_axis(sim, state, arrays, *, axis, sizes):
    """Where all axes are as long, the axis makes no difference to the check of forms, and is not passed on."""
    if axis == 0 or len(arrays) == 1 or len({*arrays[0].shape}) != 1 or len({*sizes}) != 1:
        return sim.all_gather(arrays, axis=axis, sizes=sizes)
    return sim.all_gather(arrays, axis=0, sizes=sizes)


@mutates("B-5", COPIED, "put")
def host_data_from_64_elements_on_is_not_copied(sim, state, value, device):
    """Small arrays are copied, and larger ones are wrapped as they are."""
    if isinstance(value, sim.array_types) or value.size < 64 or value.dtype.byteorder == ">":
        return sim.put(value, device)
    kind = type(sim.put(np.zeros(1, value.dtype), device))
    return value.view(kind)


@mutates("B-5", COPIED, "get")
def arrays_from_64_elements_on_are_seen_in_place(sim, state, array):
    """A host copy of a large array is a view of it, which can be written into."""
    if array.size < 64:
        return sim.get(array)
    key = id(array)
    kept = state.setdefault("kept", {})
    if key not in kept or kept[key][0] is not array:
        kept[key] = (array, sim.get(array))
    return kept[key][1]
