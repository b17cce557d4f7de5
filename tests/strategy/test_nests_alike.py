"""Nests whose classes or keys each replica makes: equal where processes would find them equal.  Clauses: M-2."""

import collections
import enum

import pytest
from vocabulary import ctx, rank

from simstrategy import tree
from simstrategy.errors import ReplicasDisagree
from simstrategy.schedules import Seeded


def pair(fields="b a", name="Pair"):
    return collections.namedtuple(name, fields)


@pytest.mark.parametrize("schedule", [{}, {"schedule": Seeded(1)}])
def test_classes_and_keys_that_each_replica_makes_are_one(mirrored, schedule):
    def step():
        kind, key = pair(), enum.Enum("E", "A").A
        total = ctx().all_reduce("SUM", [kind(1.0 + rank(), 5.0), {float("nan"): 2.0}, {key: 3.0}])
        assert type(total[0]) is kind
        assert [*total[2]] == [key]
        return [float(one) for one in (total[0].b, total[0].a, *total[1].values(), *total[2].values())]

    results = mirrored(2, **schedule).run(step)
    assert [tuple(map(float, one.values)) for one in results] == [(3.0, 3.0), (10.0, 10.0), (4.0, 4.0), (6.0, 6.0)]


@pytest.mark.parametrize(
    ("made", "lines"),
    [
        (lambda: pair("b a" if rank() else "a b")(1.0, 2.0), r"Pair\(a=float32\[\], b=.*\n.*Pair\(b=float32\[\], a="),
        (lambda: pair(name="BA"[rank()])(1.0, 2.0), r"B\(b=float32.*\n.*A\(b=float32"),
        (lambda: {enum.Enum("E", "A B")(rank() + 1): 1.0}, r"E.A: 1.*\n.*E.B: 2"),
        (lambda: {float("nan") if rank() else 1.0: 1.0}, r"{1.0: .*\n.*{nan: "),
        (lambda: [(1.0,), pair("b")(1.0)][rank()], r"\(float32\[\],\).*\n.*Pair\(b=float32\[\]\)"),
    ],
)
def test_other_classes_and_keys_disagree_and_the_lines_differ(mirrored, made, lines):
    with pytest.raises(ReplicasDisagree, match=lines):
        mirrored(2).run(lambda: ctx().all_reduce("SUM", made()))


def test_objects_without_a_value_of_their_own_are_not_one(mirrored):
    class Key:
        def __repr__(self):
            return "Key"

    with pytest.raises(ReplicasDisagree):
        mirrored(2).run(lambda: ctx().all_reduce("SUM", {Key(): 1.0}))
    assert tree.alike(None, None)
    assert not tree.alike(None, tree.flatten([1])[1])
