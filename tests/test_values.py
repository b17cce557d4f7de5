"""`select` and `regroup` by the rules that were recorded from TensorFlow, and what distributed values compute.

Clauses: V-1, V-2, V-3, V-4.
"""

import collections
import collections.abc
from typing import NamedTuple

import numpy as np
import pytest

from simstrategy import Mirrored, PerReplica
from simstrategy.errors import InvalidArgument, InvalidType
from simstrategy.regrouping import regroup
from simstrategy.values import Component, select


class Pair(NamedTuple):
    left: object
    right: object


def test_different_objects_are_regrouped_as_per_replica_even_if_they_are_equal():
    one, other = np.ones(2), np.ones(2)
    value = regroup([one, other])
    assert type(value) is PerReplica
    assert value.values[0] is one
    assert value.values[1] is other


@pytest.mark.parametrize("shared", [None, "text", 5, np.ones(2), PerReplica([1, 2])], ids=lambda s: type(s).__name__)
def test_the_very_same_object_from_every_replica_comes_back_unwrapped(shared):
    assert regroup([shared, shared, shared]) is shared


def test_always_wrap_keeps_the_same_object_per_replica():
    shared = object()
    value = regroup([shared, shared], always_wrap=True)
    assert value.values == (shared, shared)
    assert regroup([shared], always_wrap=True).values == (shared,)
    assert [item.values for item in regroup([[5], [5]], always_wrap=True)] == [(5, 5)]


@pytest.mark.parametrize("value", [np.ones(2), [1, (2,)], {"a": 1}, None], ids=repr)
def test_one_replica_gets_its_value_unwrapped(value):
    result = regroup([value])
    assert type(result) is type(value)
    assert not isinstance(result, PerReplica)
    assert repr(result) == repr(value)


def test_none_beside_a_value_is_a_component_like_any_other():
    assert regroup([1, None]).values == (1, None)
    assert regroup([None, 1]).values == (None, 1)


def test_sets_and_arrays_are_leaves():
    assert type(regroup([{1}, {1}])) is PerReplica
    assert type(regroup([np.arange(2), np.arange(3)])) is PerReplica


def test_containers_are_regrouped_item_by_item_and_types_are_the_first_replicas():
    nest = regroup([{"b": [1, (2, 3)], "a": Pair(4, 5)}, {"a": Pair(6, 5), "b": [7, (8, 9)]}])
    assert list(nest) == ["b", "a"]
    assert type(nest["b"]) is list
    assert type(nest["b"][1]) is tuple
    assert type(nest["a"]) is Pair
    assert nest["b"][0].values == (1, 7)
    assert nest["a"].left.values == (4, 6)
    assert nest["a"].right == 5


def test_mapping_type_and_key_order_are_the_first_replicas():
    first = collections.OrderedDict([("z", 1), ("a", 2)])
    nest = regroup([first, {"a": 4, "z": 3}])
    assert type(nest) is collections.OrderedDict
    assert list(nest) == ["z", "a"]
    assert nest["z"].values == (1, 3)


def test_a_named_tuple_may_meet_a_plain_tuple_of_the_same_length():
    assert type(regroup([Pair(1, 2), (3, 4)])) is Pair
    assert type(regroup([(3, 4), Pair(1, 2)])) is tuple


@pytest.mark.parametrize(
    ("first", "other", "texts"),
    [
        ([1], [1, 2], ("at result:", "a list of length 1", "a list of length 2")),
        ((1,), (), ("a tuple of length 1", "a tuple of length 0")),
        ([1], (1,), ("a list of length 1", "a tuple of length 1")),
        ((1,), [1], ("a tuple of length 1", "a list of length 1")),
        ([1], 1, ("a list of length 1", "a int")),
        ({"a": 1}, {"b": 1}, ("a dict with keys ['a']", "a dict with keys ['b']")),
        ({"a": 1}, {"a": 1, "b": 2}, ("keys ['a']", "keys ['a', 'b']")),
        ({"a": 1}, None, ("a dict with keys ['a']", "a NoneType")),
        ({"a": [0, [1]]}, {"a": [0, [1, 2]]}, ("at result['a'][1]:", "length 1", "length 2")),
    ],
)
def test_nests_of_different_structure_are_refused_with_place_and_both_forms(first, other, texts):
    with pytest.raises(InvalidArgument) as raised:
        regroup([first, first, other])
    message = str(raised.value)
    assert "local replica 0 has" in message
    assert "local replica 2 has" in message
    assert all(text in message for text in texts)


def test_a_leaf_on_replica_0_beside_a_container_is_a_component():
    assert regroup([1, [2]]).values == (1, [2])


@pytest.mark.parametrize("kind", [PerReplica, Mirrored])
def test_select_hands_each_replica_its_component_at_any_depth(kind):
    nest = {"b": [kind([1, 2]), 3], "a": Pair(kind(["x", "y"]), None)}
    assert select(0, nest) == {"b": [1, 3], "a": Pair("x", None)}
    assert select(1, nest) == {"b": [2, 3], "a": Pair("y", None)}
    assert list(select(1, nest)) == ["b", "a"]
    assert type(select(1, nest)["a"]) is Pair


def test_select_hands_components_over_as_they_are():
    inner = {"x": PerReplica([1, 2])}
    assert select(1, PerReplica([None, inner])) is inner


def test_select_takes_the_first_components_of_a_value_with_more():
    assert select(1, PerReplica([1, 2, 3])) == 2


def test_too_few_components_are_refused_with_both_numbers():
    with pytest.raises(
        InvalidArgument, match="A PerReplica of 2 components was given to replica 2, which has no component in"
    ):
        select(2, [PerReplica([1, 2])])


class Part(Component):
    """A part of something, on one replica."""

    def __init__(self, container, index):
        self.container, self.index = container, index


def test_all_parts_of_one_thing_come_back_as_the_thing():
    whole, other = object(), object()
    assert regroup([[Part(whole, 0)], [Part(whole, 1)]])[0] is whole
    assert regroup([Part(whole, 0)]) is whole
    assert type(regroup([Part(whole, 0), Part(other, 1)])) is PerReplica
    assert type(regroup([Part(whole, 1), Part(whole, 0)])) is PerReplica
    assert type(regroup([Part(whole, 0), 1])) is PerReplica


def test_leaves_are_wrapped_in_what_is_asked_for():
    nest = regroup([{"a": (1, 2)}, {"a": (1, 3)}], wrap=Mirrored)
    assert nest["a"][0] == 1
    assert type(nest["a"][1]) is Mirrored
    assert type(regroup([1, 1], wrap=Mirrored, always_wrap=True)) is Mirrored


class Attributes(collections.abc.Mapping):
    """A mapping of a user's own."""

    def __init__(self, pairs):
        self._own = dict(pairs)

    def __getitem__(self, key):
        return self._own[key]

    def __iter__(self):
        return iter(self._own)

    def __len__(self):
        return len(self._own)


def test_mappings_of_other_types_are_taken_apart_and_made_again():
    nest = regroup([Attributes([("b", 1), ("a", 2)]), {"a": 3, "b": 4}])
    assert type(nest) is Attributes
    assert list(nest) == ["b", "a"]
    assert (nest["b"].values, nest["a"].values) == ((1, 4), (2, 3))
    again = select(1, nest)
    assert type(again) is Attributes
    assert dict(again) == {"b": 4, "a": 3}
    first = collections.defaultdict(list, {"x": 1})
    assert regroup([first, first]) == {"x": 1}


def test_regroup_undoes_select():
    nest = [PerReplica([1, 2]), {"a": (PerReplica([3, 4]), "text")}]
    again = regroup([select(0, nest), select(1, nest)])
    assert again[0].values == (1, 2)
    assert again[1]["a"][0].values == (3, 4)
    assert again[1]["a"][1] == "text"


OPERATIONS = {
    "+": lambda v: v + 1,
    "r+": lambda v: 1 + v,
    "-": lambda v: v - 1,
    "r-": lambda v: 1 - v,
    "*": lambda v: v * 3,
    "r*": lambda v: 3 * v,
    "/": lambda v: v / 4,
    "r/": lambda v: 4 / v,
    "//": lambda v: v // 3,
    "r//": lambda v: 3 // v,
    "%": lambda v: v % 3,
    "r%": lambda v: 3 % v,
    "**": lambda v: v**3,
    "r**": lambda v: 3**v,
    "neg": lambda v: -v,
    "abs": abs,
    "<": lambda v: v < 2,
    "<=": lambda v: v <= 2,
    ">": lambda v: v > 2,
    ">=": lambda v: v >= 2,
    "float": float,
    "int": int,
    "bool": bool,
    "index": lambda v: [5, 6, 7, 8][v],
}
ON_ARRAYS = {
    "@": lambda v: v @ v,
    "r@": lambda v: np.ones(2) @ v,
    "len": len,
    "iter": list,
    "[]": lambda v: v[1],
    "numpy +": lambda v: np.ones(2) + v,
    "shape": lambda v: v.shape,
    "dtype": lambda v: v.dtype,
    "asarray": np.asarray,
    "v + v": lambda v: v + v,
}


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_a_mirrored_value_outside_replicas_computes_with_its_first_component(operation):
    assert operation(Mirrored([2, 3])) == operation(2)


@pytest.mark.parametrize("operation", ON_ARRAYS.values(), ids=ON_ARRAYS)
def test_a_mirrored_array_outside_replicas_computes_with_its_first_component(operation):
    one, other = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    assert repr(operation(Mirrored([one, other]))) == repr(operation(one))


REFUSED = {**OPERATIONS, **{name: ON_ARRAYS[name] for name in ("@", "r@", "len", "iter", "[]", "numpy +")}}


@pytest.mark.parametrize("operation", REFUSED.values(), ids=REFUSED)
def test_a_per_replica_value_has_no_arithmetic_and_says_what_to_do(operation):
    with pytest.raises(InvalidType, match="A PerReplica has no arithmetic: "):
        operation(PerReplica([1, 2]))


def test_a_per_replica_value_is_no_array_and_says_what_to_do():
    with pytest.raises(InvalidType, match="It looks like you are using a PerReplica object"):
        np.asarray(PerReplica([np.ones(1), np.ones(1)]))


def test_distributed_values_are_compared_by_identity_and_print_one_line_per_replica():
    one = PerReplica([1, "b"])
    assert one != PerReplica([1, "b"])
    assert len({one, one}) == 1
    assert repr(one) == "PerReplica:{\n  0: 1,\n  1: 'b'\n}"
    assert repr(Mirrored([2])) == "Mirrored:{\n  0: 2\n}"
