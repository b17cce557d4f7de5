"""Mutants that are whole strategies: wrong in reducing, splitting, running, or putting results together."""

import numpy as np
from mutation import mutates

import simstrategy as ss

BATCH = "test_a_batch_is_reduced_by_its_elements"
CHUNKS = "test_a_batch_is_cut_into_equal_chunks_and_a_rest"


def parts_of(strategy, value):
    return [np.asarray(one) for one in strategy.experimental_local_results(value)]


@mutates("R-1", "test_reduce_adds_in_the_values_dtype", "strategy.reduce")
def imaginary_parts_are_left_out(strategy, state, op, value, axis=None):
    """Adds what can be compared."""
    found = strategy.reduce(op, value, axis=axis)
    return strategy.xp.asarray(np.array(np.asarray(found).real, found.dtype)) if found.dtype.kind == "c" else found


@mutates("R-1", "test_reduce_averages_integers_in_floats", "strategy.reduce")
def the_mean_of_one_replica_is_a_float(strategy, state, op, value, axis=None):
    """Divides by one, and so changes the dtype of integers."""
    found = strategy.reduce(op, value, axis=axis)
    if op == "MEAN" and axis is None and not isinstance(value, ss.PerReplica) and np.asarray(found).dtype.kind in "iu":
        return strategy.xp.astype(strategy.xp.asarray(found), "float64")
    return found


@mutates("R-2", BATCH, "strategy.reduce")
def a_mean_of_means(strategy, state, op, value, axis=None):
    """Averages the replicas' own means of host data, as if their parts were equal."""
    parts = parts_of(strategy, value)
    ours = any(type(part) is not np.ndarray for part in strategy.experimental_local_results(value))
    if ours or op != "MEAN" or axis != 0 or any(not len(part) for part in parts):
        return strategy.reduce(op, value, axis=axis)
    return strategy.xp.asarray(np.mean([np.mean(part, axis=0) for part in parts], axis=0).astype(_of(strategy, value)))


@mutates("R-2", BATCH, "strategy.reduce")
def an_empty_part_poisons_the_mean(strategy, state, op, value, axis=None):
    """The mean of nothing, NaN, takes part in the mean of all."""
    found = strategy.reduce(op, value, axis=axis)
    if op == "MEAN" and axis is not None and any(part.size == 0 for part in parts_of(strategy, value)):
        return strategy.xp.multiply(found, float("nan"))
    return found


@mutates("R-2", BATCH, "strategy.reduce")
def the_mean_of_nothing_is_zero(strategy, state, op, value, axis=None):
    """`max(count, 1)` in the denominator."""
    found = strategy.reduce(op, value, axis=axis)
    nothing = op == "MEAN" and axis == 0 and sum(len(part) for part in parts_of(strategy, value)) == 0
    return strategy.xp.zeros_like(found) if nothing else found


@mutates("R-2", "test_an_axis_may_count_from_behind_and_come_in_a_tuple", "strategy.reduce")
def the_last_axis_is_the_first(strategy, state, op, value, axis=None):
    """An axis from behind is taken for axis 0."""
    return strategy.reduce(op, value, axis=0 if axis == -1 and parts_of(strategy, value)[0].ndim == 2 else axis)


@mutates("R-4", "test_what_cannot_be_added_is_refused_with_each_replicas_form", "strategy.reduce")
def unlike_shapes_are_broadcast(strategy, state, op, value, axis=None):
    """Adds what NumPy would add."""
    parts = parts_of(strategy, value)
    if axis is None and len({part.shape for part in parts}) > 1:
        return strategy.xp.asarray(sum(parts))
    return strategy.reduce(op, value, axis=axis)


@mutates("R-3", "test_a_plain_value_is_its_own_mean_and_counts_once_per_replica_along_an_axis", "strategy.reduce")
def a_plain_value_counts_once(strategy, state, op, value, axis=None):
    """Sums a value that is no PerReplica one for itself alone."""
    if isinstance(value, np.ndarray) and axis is not None and op == "SUM":
        return strategy.xp.asarray(np.sum(value, axis=axis))
    return strategy.reduce(op, value, axis=axis)


@mutates("R-9", "test_gather_joins_a_values_components", "strategy.gather")
def a_gather_leaves_out_what_is_empty(strategy, state, value, axis):
    """Gathers one row at least from everybody."""
    found = strategy.gather(value, axis=axis)
    parts = parts_of(strategy, value)
    if len(parts) > 1 and 0 < sum(not len(part) for part in parts) < len(parts):
        pads = [part if len(part) else np.zeros((1, *part.shape[1:]), part.dtype) for part in parts]
        return strategy.xp.asarray(np.concatenate(pads, axis))
    return found


def _of(strategy, value):
    """Returns the dtype that a mean has."""
    found = parts_of(strategy, value)[0].dtype
    return found if found.kind == "f" else np.dtype("float64")


# Datasets.


def split_by(strategy, dataset, cut):
    """Yields steps whose batches are cut by a rule: cut(batch, count) -> parts."""
    count = strategy.num_replicas_in_sync
    for batch in dataset:
        parts = cut(np.asarray(batch), count)
        if parts is not None:
            yield parts[0] if count == 1 else ss.PerReplica(parts)


class Steps:
    """Steps that can be gone through again, outside of replica functions."""

    def __init__(self, make):
        self._make = make

    def __iter__(self):
        steps = iter(self._make())
        while True:
            if ss.has_strategy() and ss.get_replica_context() is not None:
                raise ss.errors.ContextError("Steps are taken outside of the replica function.")
            try:
                yield next(steps)
            except StopIteration:
                return


def batches_of(dataset):
    """Returns the batches of a dataset, as one replica sees them."""
    strategy = ss.Strategy.mirrored("sim", replicas=1)
    found = [np.asarray(step) for step in strategy.experimental_distribute_dataset(dataset)]
    strategy.close()
    return found


def splitting(cut):
    def wrong(strategy, state, dataset, options=None):
        if not isinstance(dataset, ss.data.Dataset):
            return strategy.experimental_distribute_dataset(dataset)
        batches = batches_of(dataset)
        return Steps(lambda: split_by(strategy, batches, cut))

    return wrong


@mutates("D-1", CHUNKS, "strategy.experimental_distribute_dataset")
def chunks_are_as_equal_as_can_be(strategy, state, dataset, options=None):
    """`array_split`: 5 elements are 2, 2, 1 and not 2, 2, 1, 0."""
    return splitting(np.array_split)(strategy, state, dataset)


@mutates("D-1", CHUNKS, "strategy.experimental_distribute_dataset")
def a_partial_batch_is_dropped(strategy, state, dataset, options=None):
    """What does not divide is left out, as 1.13 did."""
    cut = lambda batch, count: None if len(batch) % count else np.split(batch, count)  # noqa: E731
    return splitting(cut)(strategy, state, dataset)


@mutates("D-1", CHUNKS, "strategy.experimental_distribute_dataset")
def elements_are_dealt_like_cards(strategy, state, dataset, options=None):
    """x[i::n]: as many to everybody, and others to each."""
    return splitting(lambda batch, count: [batch[rank::count] for rank in range(count)])(strategy, state, dataset)


@mutates("D-1", CHUNKS, "strategy.experimental_distribute_dataset")
def a_short_part_is_filled_up(strategy, state, dataset, options=None):
    """Repeats elements until all parts are equal, as samplers do."""

    def cut(batch, count):
        width = -(-len(batch) // count)
        return np.split(np.resize(batch, width * count), count)

    return splitting(cut)(strategy, state, dataset)


@mutates("D-2", "test_every_pass_begins_from_the_start", "strategy.experimental_distribute_dataset")
def a_second_pass_goes_on(strategy, state, dataset, options=None):
    """One iterator for all passes."""
    steps = strategy.experimental_distribute_dataset(dataset)
    if not isinstance(dataset, ss.data.Dataset):
        return steps
    kept = list(steps)

    def again():
        state["passes"] = state.get("passes", 0) + 1
        return iter(kept[1:] if state["passes"] > 2 else kept)

    return Steps(again)


@mutates("D-2", "test_a_replica_function_cannot_ask_for_the_next_step", "strategy.experimental_distribute_dataset")
def a_replica_may_take_a_step(strategy, state, dataset, options=None):
    """An iterator that does not look who asks: each replica takes a step of its own."""
    if not isinstance(dataset, ss.data.Dataset):
        return strategy.experimental_distribute_dataset(dataset)
    return list(strategy.experimental_distribute_dataset(dataset))


# Running.


@mutates("V-2", "test_results_are_regrouped_by_structure_and_identity", "strategy.run")
def shared_objects_are_wrapped(strategy, state, fn, args=(), kwargs=None):
    """Wraps what is one object on all replicas, too."""

    def wrap(leaf):
        return ss.PerReplica([leaf] * strategy.num_replicas_in_sync) if leaf is None else leaf

    found = strategy.run(fn, args=args, kwargs=kwargs)
    several = strategy.num_replicas_in_sync > 1 and isinstance(found, tuple)
    return tuple(tuple(map(wrap, one)) if isinstance(one, tuple) else one for one in found) if several else found


@mutates("M-1", "test_replicas_run_in_rank_order_from_meeting_to_meeting", "strategy.run")
def replicas_run_once_more(strategy, state, fn, args=(), kwargs=None):
    """Runs twice and keeps the second result, to warm up caches."""
    if not args and not kwargs and fn.__code__.co_freevars == ("came", "meetings"):
        strategy.run(fn)
    return strategy.run(fn, args=args, kwargs=kwargs)


@mutates("M-3", "test_a_replicas_own_exception_ends_the_run_unchanged", "strategy.run")
def exceptions_are_wrapped(strategy, state, fn, args=(), kwargs=None):
    """Wraps what a replica raises in an error of its own."""
    try:
        return strategy.run(fn, args=args, kwargs=kwargs)
    except KeyError as error:
        raise RuntimeError(f"a replica failed: {error}") from error


@mutates("M-2", "test_replicas_that_disagree_are_all_named", "strategy.run")
def a_disagreement_names_one_replica(strategy, state, fn, args=(), kwargs=None):
    """Tells of a mismatch, and not whose."""
    try:
        return strategy.run(fn, args=args, kwargs=kwargs)
    except ss.errors.ReplicasDisagree as error:
        raise ss.errors.ReplicasDisagree(str(error).splitlines()[0]) from None


@mutates("V-1", "test_arguments_reach_each_replica_as_its_component", "strategy.run")
def named_arguments_are_the_first_replicas(strategy, state, fn, args=(), kwargs=None):
    """Takes named arguments apart once, for replica 0."""
    named = {
        name: value.values[0] if isinstance(value, ss.PerReplica) else value for name, value in (kwargs or {}).items()
    }
    return strategy.run(fn, args=args, kwargs=named)


@mutates("V-5", "test_local_results_are_the_components", "strategy.experimental_local_results")
def local_results_are_a_list(strategy, state, value):
    """A list, where a tuple is promised."""
    return list(strategy.experimental_local_results(value))
