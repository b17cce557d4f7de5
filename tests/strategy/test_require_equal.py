"""What replicas hold is compared to the bit, and the first difference is named: leaf, element, replicas and lines."""

# Clauses: R-11

import collections
import enum
import math

import numpy as np
import pytest
from vocabulary import ctx, line_here, rank

import simstrategy as ss
from simstrategy.errors import ContextError, InvalidType, ReplicasDisagree
from simstrategy.sim import Cluster
from simstrategy.trace import Trace


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


Pair = collections.namedtuple("Pair", "left right")


def alike(xp):
    """A nest of all that can be compared, made anew by each replica."""
    return {
        "arrays": [np.arange(6.0).reshape(2, 3), xp.ones([2]), np.zeros((0, 3)), np.float32(np.nan), np.array(True)],
        "numbers": Pair(1, 2.5),
        "texts": ("abc", b"abc", None, Colour.RED, 3 + 4j, True),
        "names": np.array(["a", "bc"]),
        "set": {"b", "a", "c"},
        5: np.datetime64("2026-01-01"),
    }


@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_equal_nests_pass_and_are_one_synchronisation_point(mirrored, executor, replicas):
    trace = Trace()
    strategy = mirrored(replicas, executor=executor, trace=trace)
    assert strategy.run(lambda: ctx().require_equal(alike(ctx().xp), name="state")) is None
    assert [(one.kind, one.subject) for one in trace.events()][1:] == [("require_equal", "state")] * replicas


def test_nans_and_zeros_are_one_value_each(mirrored):
    other_nan = np.frombuffer(b"\x01\x00\xc0\xff", np.float32)
    assert np.isnan(other_nan).all()

    def step():
        first = rank() == 0
        ctx().require_equal([np.float32([math.nan]) if first else other_nan, 0.0 if first else -0.0, math.nan])
        ctx().require_equal(np.complex64(complex(0.0, math.nan) if first else complex(-0.0, -math.nan)))

    mirrored(2).run(step)


CUT = "structure, …" + "k" * 20
UNEQUAL = {
    "an element": (
        lambda: np.float32([[1, 2], [3, rank()]]),
        "the value, first at [1, 1]",
        "float32[2,2], 0.0",
        "float32[2,2], 1.0",
    ),
    "a scalar": (lambda: {"a": [1, np.float32(rank())]}, "leaf ['a'][1]", "float32[], 0.0", "float32[], 1.0"),
    "one ulp": (
        lambda: np.float64([1, np.nextafter(1.0, 1.0 + rank())]),
        "the value, first at [1]",
        "float64[2], 1.0",
        "float64[2], 1.0000000000000002",
    ),
    "a shape": (lambda: np.zeros(2 + rank()), "the value", "float64[2]", "float64[3]"),
    "a shape of the same bytes": (
        lambda: np.zeros([(2, 2), (4,)][rank()]),
        "the value",
        "float64[2,2]",
        "float64[4]",
    ),
    "a dtype of the same bytes": (
        lambda: np.zeros(2, ["int32", "float32"][rank()]),
        "the value",
        "int32[2]",
        "float32[2]",
    ),
    "a dtype": (lambda: np.zeros(2, ["float32", "float64"][rank()]), "the value", "float32[2]", "float64[2]"),
    "a type": (lambda: [1, 1.0][rank()], "the value", "int", "float"),
    "true for one": (lambda: [True, 1][rank()], "the value", "bool", "int"),
    "a key": (
        lambda: {"a": 1} | ({"b": 2} if rank() else {}),
        "the structure of the nest",
        "structure, {'a': *}",
        "structure, {'a': *, 'b': *}",
    ),
    "a long key": (
        lambda: {"k" * 300 + str(rank()): 1},
        "the structure of the nest",
        f"{CUT}0': *}}",
        f"{CUT}1': *}}",
    ),
    "a container": (lambda: [[1], (1,)][rank()], "the structure of the nest", "structure, [*]", "structure, (*)"),
    "an enum": (lambda: list(Colour)[rank()], "the value", "Colour, <Colour.RED: 1>", "Colour, <Colour.BLUE: 2>"),
    "the end of a text": (
        lambda: ["x" * 400 + str(rank())],
        "leaf [0]",
        "str, …" + "x" * 20 + "0'",
        "str, …" + "x" * 20 + "1'",
    ),
    "a longer text": (lambda: "ab" + "c" * rank(), "the value", "str, 'ab'", "str, 'abc'"),
    "names": (
        lambda: np.array(["a", "bc"[rank()]]),
        "the value",
        "array of U[2], ['a', 'b']",
        "array of U[2], ['a', 'c']",
    ),
    "a set": (lambda: {1, 2 + rank()}, "the value", "set, ['1', '2']", "set, ['1', '3']"),
    "none": (lambda: [None, "None"][rank()], "the value", "NoneType", "str"),
}


@pytest.mark.parametrize("made", UNEQUAL.values(), ids=UNEQUAL)
def test_a_difference_is_named_with_leaf_element_replicas_and_lines(mirrored, made):
    value, place, first, second = made

    def step():
        ctx().require_equal(value(), name="state")

    line = step.__code__.co_firstlineno + 1
    with pytest.raises(ReplicasDisagree) as raised:
        mirrored(2).run(step)
    assert str(raised.value) == (
        f"require_equal 'state' found unequal values: {place}.\n"
        f"  replica 0: {first} at test_require_equal.py:{line}\n"
        f"  replica 1: {second} at test_require_equal.py:{line}\n"
        f"Combine it over the replicas before, such as by all_reduce, or compute it alike in all of them."
    )


@pytest.mark.parametrize("place", [0, 1, 255, 256, 257, 65_535, 65_536, 99_999])
def test_the_first_of_many_elements_is_found(mirrored, place):
    def step():
        array = np.zeros(100_000, np.int8)
        array[place:] = rank()
        ctx().require_equal(array)

    with pytest.raises(ReplicasDisagree, match=rf"first at \[{place}\]\.\n"):
        mirrored(2).run(step)


def test_other_leaves_and_replicas_that_are_as_replica_0_are_listed(mirrored):
    def step():
        odd = rank() == 2
        ctx().require_equal({"a": 1, "b": [int(odd), np.full(3, odd)], "c": rank() == 1})

    with pytest.raises(ReplicasDisagree) as raised:
        mirrored(4).run(step)
    text = str(raised.value)
    assert "found unequal values: leaf ['b'][0]; 2 more differ: ['b'][1], ['c'].\n  replica 0: int, 0 at" in text
    assert "\n  replica 2: int, 1 at" in text
    assert "\n  replicas 1, 3: as replica 0 there\n" in text


def test_variables_and_captured_values_stand_for_the_replicas_component(mirrored):
    strategy = mirrored(2, semantics=ss.Semantics.TF2)
    on_read, summed = ss.VariableSynchronization.ON_READ, ss.VariableAggregation.SUM
    with strategy.scope():
        total = ss.Variable(1.0, synchronization=on_read, aggregation=summed)
    ranks = strategy.run(lambda: ctx().xp.asarray(np.float32(rank())))
    same = ss.PerReplica([np.ones(2), np.ones(2)])
    strategy.run(lambda: ctx().require_equal([total, same]))
    strategy.require_equal([total, same, 3])
    with pytest.raises(ReplicasDisagree, match=r"leaf \[0\]"):
        strategy.run(lambda: ctx().require_equal([ranks]))
    strategy.run(lambda: total.assign_add(float(rank())))
    for compare in (
        lambda: strategy.run(lambda: ctx().require_equal([total])),
        lambda: strategy.require_equal([total]),
    ):
        with pytest.raises(ReplicasDisagree, match=r"float32\[\], 2.0"):
            compare()
    assert [float(one) for one in total.components] == [1.0, 2.0]


class Model:
    pass


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ([1, Model()], "leaf [1] is none: it is of type Model."),
        ({"o": np.array([Model()], object)}, "leaf ['o'] is none: it is an array of objects."),
        (len, "leaf value is none: it is of type builtin_function_or_method."),
        ({Model()}, "leaf value is none: it is of type set."),
    ],
    ids=["object", "objects", "function", "set of objects"],
)
def test_what_cannot_be_compared_is_refused_and_never_found_equal(mirrored, value, named):
    with pytest.raises(InvalidType, match="compares nests of arrays, numbers and texts") as raised:
        mirrored(2).run(lambda: ctx().require_equal(value))
    assert named in str(raised.value)
    with pytest.raises(InvalidType):
        mirrored(2).require_equal(value)


def test_replicas_that_call_it_by_other_names_or_not_at_all_disagree(mirrored):
    with pytest.raises(ReplicasDisagree, match="require_equal b at"):
        mirrored(2).run(lambda: ctx().require_equal(1, name="ab"[rank()]))
    with pytest.raises(ReplicasDisagree, match="returned from"):
        mirrored(2).run(lambda: ctx().require_equal(1) if rank() else None)
    with pytest.raises(InvalidType, match="require_equal"):
        mirrored(2).run(lambda: ctx().require_equal(1, name=3))


def test_it_ends_the_run_however_the_program_catches(mirrored):
    def step():
        try:
            ctx().require_equal(rank())
        except BaseException:  # noqa: BLE001 - as a careless program does
            return "caught"

    with pytest.raises(ReplicasDisagree, match="found unequal values"):
        mirrored(2).run(step)


def test_outside_of_replicas_components_are_compared_and_in_them_it_is_refused(mirrored):
    strategy = mirrored(2)
    strategy.require_equal({"w": ss.PerReplica([1, 1]), "n": 4}, name="end")
    with pytest.raises(ReplicasDisagree) as raised:
        strategy.require_equal({"w": ss.PerReplica([1, 2])}, name="end")
    line = line_here() - 1
    expected = (
        f"require_equal 'end' found unequal values: leaf ['w'].\n  replica 0: int, 1 at test_require_equal.py:{line}"
    )
    assert str(raised.value).startswith(expected)
    with pytest.raises(ContextError):
        strategy.run(lambda: strategy.require_equal(1))
    ss.get_replica_context().require_equal([1])  # of the default strategy, which has one replica


@pytest.mark.parametrize("workers", [(2, 1), (2, 2), (3, 1)])
def test_workers_compare_what_they_hold_and_all_raise_one_error(workers):
    def main(strategy):
        state = {"a": np.zeros((40, 70)), "b": "x" * 50}
        strategy.require_equal(state, name="start")
        state["a"][30, 5] = strategy.extended.should_checkpoint
        with pytest.raises(ReplicasDisagree) as raised:
            strategy.require_equal(state, name="state")
        strategy.require_equal(1)  # and it goes on
        return str(raised.value)

    texts = Cluster(*workers).run(main)
    assert len(set(texts)) == 1
    assert "leaf ['a'], first at [30, 5]." in texts[0]
    assert "  replica 0: float64[40,70], 1.0 " in texts[0]
    assert f"  replica {workers[1]}: float64[40,70], 0.0 " in texts[0]


def test_state_that_is_no_variable_is_compared_at_the_end_of_every_run(mirrored):
    strategy = mirrored(2)
    buffers = [{"mean": np.zeros(2)} for _ in range(2)]
    seen = []

    def state():
        seen.append(1)
        return {name: ss.PerReplica([one[name] for one in buffers]) for name in buffers[0]}

    strategy.require_equal_after_run("buffers", state)
    strategy.run(lambda: None)
    assert seen == [1]

    def drifts():
        buffers[rank()]["mean"][1] += rank()

    with pytest.raises(ReplicasDisagree) as raised:
        strategy.run(drifts)
    line = line_here() - 1
    assert "require_equal 'buffers' found unequal values: leaf ['mean'], first at [1].\n" in str(raised.value)
    assert f"replica 1: float64[2], 1.0 at test_require_equal.py:{line}" in str(raised.value)
    with pytest.raises(KeyError):
        strategy.run(lambda: {}["missing"])
    assert seen == [1, 1]
    strategy.require_equal_after_run("buffers", lambda: 0)
    strategy.run(drifts)
    for wrong in [("a", 3), (3, state)]:
        with pytest.raises(InvalidType, match="a name and a function without arguments"):
            strategy.require_equal_after_run(*wrong)
