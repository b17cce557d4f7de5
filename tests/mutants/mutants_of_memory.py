"""Mutants whose arrays programs can write into, and that share memory, or read it later than they may."""

import numpy as np
from mutation import Altered, loose, mutates, with_function


def _put(inner, state, value, device):
    return loose(inner.put(value, device))


def _writable(sim, name, wrong):
    """Returns the simulator with arrays that a program can write into, and with one array function exchanged."""
    return Altered(with_function(sim, name, wrong), {"put": _put})


@mutates("B-18", "test_what_is_written_into_an_argument_later_changes_no_result", "")
def a_conjugate_of_real_numbers_is_the_argument(sim):
    """As PyTorch has it, whose arrays can be written to."""
    return _writable(sim, "conj", lambda _, state, x: sim.xp.conj(x) if np.iscomplexobj(x) else x)


@mutates("B-18", "test_what_is_written_into_a_result_changes_nothing_else", "")
def no_difference_is_the_argument(sim):
    """`diff` with n=0 had nothing to do."""

    def diff(_, state, x, **options):
        return x if options.get("n") == 0 else sim.xp.diff(x, **options)

    return _writable(sim, "diff", diff)


@mutates("B-13", "test_no_result_reads_its_arguments_later", "")
def a_sum_is_made_when_it_is_read(sim):
    """Keeps the arguments till then, and programs can write into them."""

    def all_reduce(inner, state, arrays, op):
        found = tuple(loose(one) for one in inner.all_reduce(arrays, op))
        state.update({id(one): (one, rank, arrays, op) for rank, one in enumerate(found)})
        return found

    def get(inner, state, array):
        if id(array) in state:
            one, rank, arrays, op = state.pop(id(array))
            one[...] = inner.all_reduce(arrays, op)[rank]
        return inner.get(array)

    return Altered(sim, {"all_reduce": all_reduce, "get": get, "put": _put})


@mutates("B-14", "test_what_is_written_into_a_result_is_in_no_later_one", "")
def an_equal_call_gets_what_the_first_has_returned(sim):
    """A cache by the values of the arguments; programs can write into arrays."""

    def all_reduce(inner, state, arrays, op):
        key = (op, *(f"{host.dtype}{host.shape}{host.tobytes()}" for host in map(np.asarray, arrays)))
        if key not in state:
            state[key] = tuple(loose(one) for one in inner.all_reduce(arrays, op))
        return state[key]

    return Altered(sim, {"all_reduce": all_reduce, "put": _put})
