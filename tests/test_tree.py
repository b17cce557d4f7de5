"""Nests: what is a container, in which order leaves come, and how nests are rebuilt and written."""

import collections
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simstrategy as ss
from simstrategy import tree
from simstrategy.errors import InvalidArgument
from simstrategy.regrouping import regroup
from simstrategy.values import PerReplica, select


class Pair(NamedTuple):
    left: object
    right: object


class Keyed(collections.UserDict):
    """A mapping that takes pairs, and is no dict."""


class Stubborn(dict):
    """A mapping that can be made neither empty nor of pairs."""

    def __init__(self, *, a, **items):
        items["a"] = a
        dict.__init__(self, **items)


NESTS = st.recursive(
    st.integers() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=2), inner, max_size=3)
        | st.tuples(inner, inner).map(lambda items: Pair(*items))
    ),
    max_leaves=12,
)


@given(NESTS)
def test_flatten_and_unflatten_are_inverse_and_keep_types(nest):
    leaves, structure = tree.flatten(nest)
    again = tree.unflatten(structure, leaves)
    assert again == nest
    assert type(again) is type(nest)


@given(NESTS)
def test_refill_puts_leaves_where_flatten_found_them_and_keeps_the_order_of_keys(nest):
    leaves, structure = tree.flatten(nest)
    numbered = tree.refill(nest, structure, list(range(len(leaves))))
    assert tree.flatten(numbered) == (list(range(len(leaves))), structure)
    assert repr(tree.refill(numbered, structure, leaves)) == repr(nest)


def is_plain(nest):
    if tree.is_leaf(nest):
        return True
    return type(nest) in (list, tuple, dict) and all(map(is_plain, nest.values() if type(nest) is dict else nest))


@given(NESTS, NESTS)
def test_leaves_like_finds_the_leaves_of_a_plain_nest_of_the_same_structure_alone(nest, other):
    leaves, structure = tree.flatten(nest)
    if structure is None:
        return
    assert tree.leaves_like(nest, structure) == (leaves if is_plain(nest) else None)
    found = tree.leaves_like(other, structure)
    if found is not None and all(map(tree.is_leaf, found)):
        assert tree.flatten(other) == (found, structure)


def test_leaves_like_adds_no_key_to_a_mapping_that_makes_what_it_lacks():
    _, structure = tree.flatten(collections.defaultdict(list, a=1, b=2))
    other = collections.defaultdict(list, a=1, c=2)
    assert tree.leaves_like(other, structure) is None
    assert dict(other) == {"a": 1, "c": 2}
    _, plain = tree.flatten({"a": 1, "b": 2})
    assert tree.leaves_like({"a": 1, "c": 2}, plain) is None
    assert tree.leaves_like({"b": 2, "a": 1}, plain) == [1, 2]


@given(NESTS)
def test_map_leaves_sees_the_leaves_that_flatten_finds(nest):
    seen = []
    tree.map_leaves(seen.append, nest)
    assert sorted(map(repr, seen)) == sorted(map(repr, tree.flatten(nest)[0]))


@pytest.mark.parametrize(
    "leaf", [np.zeros(3), "text", None, {1, 2}, PerReplica([1, 2]), 1.5, object()], ids=lambda leaf: type(leaf).__name__
)
def test_everything_but_lists_tuples_and_mappings_is_a_leaf(leaf):
    leaves, structure = tree.flatten(leaf)
    assert structure is None
    assert len(leaves) == 1
    assert leaves[0] is leaf
    assert tree.is_leaf(leaf)
    assert tree.unflatten(structure, [leaf]) is leaf


def test_a_mapping_is_flattened_in_sorted_key_order_whatever_order_it_has():
    assert tree.flatten({"b": 1, "a": 2})[0] == [2, 1]
    assert tree.flatten({"b": 1, "a": 2})[1] == tree.flatten({"a": 0, "b": 0})[1]


def test_an_ordered_dict_is_rebuilt_as_one_and_map_leaves_keeps_its_own_order():
    nest = collections.OrderedDict([("z", 1), ("a", 2)])
    leaves, structure = tree.flatten(nest)
    assert leaves == [2, 1]
    assert type(tree.unflatten(structure, leaves)) is collections.OrderedDict
    mapped = tree.map_leaves(lambda leaf: leaf * 10, nest)
    assert list(mapped.items()) == [("z", 10), ("a", 20)]
    assert type(mapped) is collections.OrderedDict


def test_keys_that_do_not_compare_are_sorted_by_type_and_text():
    mixed = {"b": 1, 2: 2, "a": 3, 1: 4}
    assert tree.sorted_keys(mixed) == (1, 2, "a", "b")
    assert tree.flatten(mixed)[0] == [4, 2, 3, 1]
    assert tree.sorted_keys(dict(reversed(mixed.items()))) == (1, 2, "a", "b")


def test_mappings_that_are_no_dicts_are_containers_and_come_back():
    leaves, structure = tree.flatten(Keyed(b=1, a=2))
    assert leaves == [2, 1]
    again = tree.unflatten(structure, leaves)
    assert type(again) is Keyed
    assert again == Keyed(a=2, b=1)


def test_a_mapping_that_is_made_neither_empty_nor_of_pairs_becomes_a_plain_dict():
    again = tree.map_leaves(lambda leaf: leaf + 1, Stubborn(a=1))
    assert type(again) is dict
    assert again == {"a": 2}


def test_a_named_tuple_is_rebuilt_by_position():
    again = tree.map_leaves(lambda leaf: leaf + 1, Pair(1, [2]))
    assert type(again) is Pair
    assert again == Pair(2, [3])


def test_structures_tell_lists_from_tuples_and_named_tuples():
    structures = [tree.flatten(nest)[1] for nest in ([1, 2], (1, 2), Pair(1, 2), {"left": 1, "right": 2})]
    assert len(set(structures)) == 4


def test_an_empty_container_has_no_leaves_and_is_no_leaf():
    for empty in ([], (), {}):
        leaves, structure = tree.flatten(empty)
        assert leaves == []
        assert structure is not None
        assert tree.unflatten(structure, []) == empty


@pytest.mark.parametrize(
    ("nest", "text"),
    [
        (0, "A"),
        ([0, 0], "[A, B]"),
        ((0,), "(A,)"),
        ((0, 0), "(A, B)"),
        ((), "()"),
        (Pair(0, 0), "Pair(left=A, right=B)"),
        ({"b": [0], "a": 0}, "{'a': A, 'b': [B]}"),
        ([], "[]"),
    ],
)
def test_describe_writes_a_nest_as_python_does(nest, text):
    assert tree.describe(tree.flatten(nest)[1], ["A", "B"]) == text


def test_describe_puts_a_star_where_no_text_is_given():
    assert tree.describe(tree.flatten([0, 0])[1], ["A"]) == "[A, *]"


@pytest.mark.parametrize(
    "made",
    [
        collections.Counter(a=3, b=2),
        collections.ChainMap({"a": 3}, {"b": 2}),
        collections.UserDict(a=3, b=2),
        collections.OrderedDict(b=2, a=3),
    ],
    ids=lambda made: type(made).__name__,
)
def test_mappings_of_every_type_are_rebuilt_with_their_keys(made):
    leaves, structure = tree.flatten(made)
    same = (tree.unflatten(structure, leaves), tree.refill(made, structure, leaves), tree.map_leaves(abs, made))
    for rebuilt in same:
        assert type(rebuilt) is type(made)
        assert dict(rebuilt) == {"a": 3, "b": 2}


def _circular(kind):
    nest = kind()
    if kind is list:
        nest.append(nest)
    else:
        nest["again"] = nest
    return nest


@pytest.mark.parametrize("kind", [list, dict])
@pytest.mark.parametrize(
    "act",
    [
        tree.flatten,
        lambda nest: tree.map_leaves(str, nest),
        lambda nest: select(0, nest),
        lambda nest: regroup([nest, nest]),
        lambda nest: ss.Strategy.mirrored("sim", replicas=2).run(lambda: nest),
        lambda nest: ss.Strategy.mirrored("sim", replicas=2).run(str, (nest,)),
        lambda nest: ss.Strategy.mirrored("sim", replicas=2).run(
            lambda: ss.get_replica_context().all_reduce("SUM", nest)
        ),
    ],
    ids=["flatten", "map_leaves", "select", "regroup", "result", "argument", "all_reduce"],
)
def test_a_nest_that_contains_itself_is_refused(act, kind):
    with pytest.raises(InvalidArgument, match="A value contains itself, or has more levels of lists"):
        act(_circular(kind))


def test_a_function_that_reaches_the_limit_of_recursion_raises_its_own_error():
    def endless(leaf):
        return endless(leaf)

    with pytest.raises(RecursionError):
        tree.map_leaves(endless, [1, [2]])
