"""all_reduce, all_gather and merge_call as replica functions see them."""

import collections
import functools
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from vocabulary import ctx, listed, rank, variable_in

import simstrategy as ss
from simstrategy import Mirrored, PerReplica, tree
from simstrategy.errors import FunctionsDiffer, InvalidArgument, InvalidType, ReplicasDisagree


class Pair(NamedTuple):
    left: object
    right: object


def each(strategy, replica):
    return strategy.experimental_local_results(strategy.run(replica))


# Clauses: R-7
def test_one_object_shared_by_all_replicas_counts_once_per_replica(mirrored, same):
    shared = np.float32([1, 2])
    for one in each(mirrored(3), lambda: ctx().all_reduce("SUM", shared)):
        same(one, np.float32([3, 6]))


def test_python_numbers_take_the_default_dtypes(mirrored, same):
    same(each(mirrored(2), lambda: ctx().all_reduce("SUM", 1.5))[0], np.float32(3))
    same(each(mirrored(2), lambda: ctx().all_reduce("SUM", 2))[0], np.int32(4))


# Clauses: R-5
def test_nests_are_reduced_leaf_by_leaf_and_keep_their_form(mirrored):
    def replica():
        nest = collections.OrderedDict(b=[np.float32(1), (np.int64([2]),)], a=Pair(np.zeros(0), 3))
        return ctx().all_reduce("SUM", nest)

    nest = mirrored(2).run(replica)
    assert type(nest) is collections.OrderedDict
    assert type(nest["a"]) is Pair
    assert [float(one) for one in nest["b"][0].values] == [2, 2]
    assert [one.tolist() for one in nest["b"][1][0].values] == [[4], [4]]
    assert nest["a"].left.values[0].shape == (0,)
    assert [int(one) for one in nest["a"].right.values] == [6, 6]


@pytest.mark.parametrize("empty", [[], (), {}, [()]])
def test_a_nest_without_leaves_comes_back(mirrored, empty):
    assert mirrored(2).run(lambda: ctx().all_reduce("SUM", empty)) == empty


def test_an_array_of_another_replica_is_brought_over(mirrored, same):
    strategy = mirrored(2)
    arrays = strategy.run(lambda: ctx().xp.ones(2) * (rank() + 1)).values
    for one in each(strategy, lambda: ctx().all_reduce("SUM", arrays[0])):
        same(one, np.float32([2, 2]))


@pytest.mark.parametrize("value", [True, np.array([True]), [1.0, np.array(False)]], ids=repr)
def test_bool_has_no_sum(mirrored, value):
    with pytest.raises(InvalidArgument, match=r"all_reduce.* got bool, which has no sum.*astype"):
        mirrored(2).run(lambda: ctx().all_reduce("SUM", value))


def test_bool_on_the_device_has_no_sum_either_first_or_later(mirrored):
    strategy = mirrored(2)
    for _ in range(2):
        with pytest.raises(InvalidArgument, match="got bool"):
            strategy.run(lambda: ctx().all_reduce("SUM", ctx().xp.ones(2, dtype="bool")))
        strategy.run(lambda: ctx().all_reduce("SUM", ctx().xp.ones(2)))


@pytest.mark.parametrize(
    ("op", "error"), [("max", InvalidArgument), ("", InvalidArgument), (1, InvalidType), (None, InvalidType)]
)
def test_an_op_is_sum_or_mean(mirrored, op, error):
    with pytest.raises(error, match=r"ReduceOp\.SUM or ReduceOp\.MEAN"):
        mirrored(2).run(lambda: ctx().all_reduce(op, 1.0))
    with pytest.raises(error, match=r"ReduceOp\.SUM or ReduceOp\.MEAN"):
        mirrored(2).run(lambda: ctx().all_reduce(op, ctx().xp.ones(2)))


@pytest.mark.parametrize("value", ["text", None, object(), {1, 2}])
def test_what_is_no_number_is_refused_with_advice(mirrored, value):
    with pytest.raises(InvalidType, match="Expected an array, a number or a nest of them"):
        mirrored(2).run(lambda: ctx().all_reduce("SUM", value))


def test_requests_of_many_shapes_after_each_other_are_not_confused(mirrored, same):
    strategy = mirrored(2)

    def replica():
        return [
            ctx().all_reduce(op, ctx().xp.full(shape, rank() + 1, dtype=dtype))
            for op in ("SUM", "MEAN", "SUM")
            for shape in ((2,), (3,), (2,), ())
            for dtype in ("float32", "float64", "float32")
        ]

    results = iter(strategy.run(replica))
    for op in ("SUM", "MEAN", "SUM"):
        for shape in ((2,), (3,), (2,), ()):
            for dtype in ("float32", "float64", "float32"):
                for one in next(results).values:
                    same(one, np.full(shape, 3.0 if op == "SUM" else 1.5, dtype))


def test_nests_of_many_forms_after_each_other_are_not_confused(mirrored):
    strategy = mirrored(2)
    fives = strategy.run(lambda: ctx().xp.full((2,), 5.0, dtype="float32")).values[0]
    seen = []

    def replica():
        xp, mine = ctx().xp, float(rank())
        array, host = xp.full((2,), mine, dtype="float32"), np.full(2, mine, np.float32)
        values = [
            {"a": array, "b": [array, array]},
            {"b": [array, array], "a": array},
            {"a": array, "b": [array, mine]},
            {"a": array, "b": [host, fives]},
            {"a": array, "b": (array, array)},
            {"a": array, "c": [array, array]},
            {"a": array, "b": [array]},
            {"a": array, "b": [array, [array]]},
            {"a": array, "b": [array, xp.astype(array, "float64")]},
            {"a": array, "b": [array, array]},
            {"a": [array, array], "b": array},
        ]
        seen.extend((op, value, ctx().all_reduce(op, value)) for value in values for op in ("SUM", "MEAN", "SUM"))

    strategy.run(replica)
    assert len(seen) == 66
    for op, value, result in seen:
        (found, structure), (given, wanted) = tree.flatten(result), tree.flatten(value)
        assert structure == wanted
        assert list(result) == list(value)
        for array, leaf in zip(found, given, strict=True):
            total = 10.0 if leaf is fives else 1.0
            assert array.shape == np.shape(leaf)
            assert set(array.ravel().tolist()) == {total / 2 if op == "MEAN" else total}
            assert array.dtype == getattr(leaf, "dtype", np.float32)


# Clauses: R-6
@pytest.mark.parametrize("axis", [0, -2, np.int64(0)])
def test_all_gather_concatenates_uneven_parts_in_rank_order(mirrored, same, axis):
    for one in each(mirrored(3), lambda: ctx().all_gather(np.full((rank(), 2), rank(), np.int32), axis)):
        same(one, np.int32([[1, 1], [2, 2], [2, 2]]))


def test_all_gather_takes_nests_bools_and_empty_parts(mirrored):
    def replica():
        return ctx().all_gather({"b": np.ones((0, 2), np.float32), "a": [np.array([rank() == 1])]}, 0)

    nest = mirrored(2).run(replica)
    assert set(nest) == {"b", "a"}
    assert nest["b"].values[1].shape == (0, 2)
    assert nest["a"][0].values[0].tolist() == [False, True]


@pytest.mark.parametrize(
    ("value", "axis", "text"),
    [
        (1.0, 0, "all_gather got a scalar, which has no axis"),
        (np.ones(2), 1, r"Invalid reduction dimension 1 for input with 1 dimensions.*from -1 to 0"),
        (np.ones(2), -2, "Invalid reduction dimension -2"),
        (np.ones(2), None, "all_gather takes an int as axis, got None"),
        (np.ones(2), True, "all_gather takes an int as axis, got True"),
        (np.ones(2), 0.0, r"all_gather takes an int as axis, got 0\.0"),
    ],
)
def test_all_gather_needs_an_axis_of_the_array(mirrored, value, axis, text):
    with pytest.raises(InvalidArgument, match=text):
        mirrored(2).run(lambda: ctx().all_gather(value, axis))


def test_a_merge_function_of_one_replica_sees_plain_values(mirrored):
    seen = []
    mirrored(1).run(lambda: ctx().merge_call(lambda strategy, x: seen.append(x), args=(np.ones(1),)))
    assert type(seen[0]) is np.ndarray


def test_replica_0s_merge_function_is_the_one_that_is_called(mirrored):
    def replica():
        mine = np.float32([rank() + 5])
        return ctx().merge_call(lambda strategy: float(mine[0]))

    with pytest.warns(FunctionsDiffer) as caught:
        assert mirrored(2).run(replica) == 5
    line = replica.__code__.co_firstlineno + 2
    wanted = (
        f"merge_call at test_collectives_in_replicas.py:{line}: the functions of replicas 0 and 1 hold other values, "
        f"mine: float32[1] [5.0] and float32[1] [6.0], and only the first replica's function is called. Pass values "
        f"that belong to one replica as arguments: merge_call(function, args=(value,)); "
        f'checks="strict" refuses it.'
    )
    assert [str(one.message) for one in caught] == [wanted]


# Clauses: M-5
def test_values_that_functions_hold_are_compared_once_for_each_line_and_refused_under_strict_checks(mirrored):
    def replica(make):
        held = make(rank())
        return ctx().merge_call(lambda strategy: held)

    same = [lambda _: np.ones(3), lambda _: {"a": [np.ones(1), 2]}, lambda _: replica, lambda _: Path("a")]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for make in same:
            for checks in (True, False, "strict"):
                mirrored(3, checks=checks).run(replica, (make,))
        mirrored(2, checks=False).run(replica, (np.zeros,))
    for make in (
        lambda rank: np.full(2, rank),
        lambda _: object(),
        lambda _: iter(()),
        lambda rank: [np.ones(rank)],
    ):
        strategy = mirrored(2)
        with pytest.warns(FunctionsDiffer):
            strategy.run(replica, (make,))
        strategy.run(replica, (make,))
        with pytest.raises(ReplicasDisagree, match="or do without strict checks"):
            mirrored(2, checks="strict").run(replica, (make,))


class Scaling:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, strategy):
        return self.factor

    def scaled(self, strategy):
        return self.factor


def wrapping(inner, *, negative):
    if negative:

        @functools.wraps(inner)
        def wrapper(*args):
            return -inner(*args)

    else:

        @functools.wraps(inner)
        def wrapper(*args):
            return inner(*args)

    return wrapper


def one(strategy):
    return 1


def holding(held, *, direct):
    return (lambda strategy: held.factor) if direct else (lambda strategy: factor_of(held, strategy))


def factor_of(scaling, strategy):
    return scaling.factor


# Clauses: M-5
@pytest.mark.parametrize(
    ("make", "differs"),
    [
        (lambda rank: Scaling(rank).scaled, "self.factor: 0 and 1"),
        (Scaling, "factor: 0 and 1"),
        (lambda rank: wrapping(one, negative=rank == 1), "the function: "),
        (lambda rank: functools.partial(factor_of, Scaling(rank)), "argument 0.factor: 0 and 1"),
        (lambda rank: holding(Scaling(rank), direct=True), "held.factor: 0 and 1"),
        (lambda rank: holding(Scaling(rank), direct=False), "held.factor: 0 and 1"),
    ],
)
def test_functions_that_read_alike_are_distinguished_by_what_they_hold(mirrored, make, differs):
    with pytest.raises(ReplicasDisagree) as raised:
        mirrored(2).run(lambda: ctx().merge_call(make(rank())))
    assert str(raised.value).splitlines()[3].startswith(f"  replicas 0 and 1 differ in {differs}")


# Clauses: M-5
def test_a_merge_function_may_hold_the_replica_context_and_what_all_replicas_share(mirrored):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        strategy = mirrored(2, checks="strict")
        variable = variable_in(strategy, 1.0)
        shared = {"optimizer": object(), "variables": [variable]}

        def replica():
            context = ctx()
            return context.merge_call(lambda strategy, value: (context, shared, variable) and value, args=(rank(),))

        assert listed(strategy.run(replica)) == [0, 1]


# Clauses: C-3, M-5
def test_arguments_reach_the_function_regrouped_and_results_are_handed_out(mirrored, executor):
    strategy, seen = mirrored(2, executor=executor), []

    def merge(merging, nest, *, shared, own):
        seen.append((merging is strategy, nest["a"][0].values, shared, own.values))
        return {"per": PerReplica([10, 20]), "same": (Mirrored([1, 2]), "text"), "none": None}

    def replica():
        return ctx().merge_call(merge, args=[{"a": [rank() + 0.5]}], kwargs={"shared": "s", "own": rank() + 1000})

    result = strategy.run(replica)
    assert seen == [(True, (0.5, 1.5), "s", (1000, 1001))]
    assert (result["per"].values, result["same"][0].values) == ((10, 20), (1, 2))
    assert (result["same"][1], result["none"]) == ("text", None)


def test_inside_a_merge_function_and_an_update_there_is_no_context_to_merge(mirrored):
    strategy = mirrored(2)
    with strategy.scope():
        v = ss.Variable(1.0)

    def inside(*_):
        assert ss.in_cross_replica_context()
        return ctx()

    assert strategy.run(lambda: ctx().merge_call(inside)) is None
    assert strategy.extended.update(v, inside) is None
