"""`merge_call`: what it takes, and which contexts it is refused in.  Clauses: C-3, M-5."""

from vocabulary import ctx, rank

import simstrategy as ss
from simstrategy import Mirrored, PerReplica


def test_arguments_reach_the_function_regrouped_and_results_are_handed_out(mirrored, carrier):
    strategy, seen = mirrored(2, lanes=carrier), []

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
