"""`merge_call`: what it takes, and which contexts it is refused in.  Clauses: C-3, M-5."""

import numpy as np
import pytest
from vocabulary import ctx, rank

import simstrategy as ss
from simstrategy import Mirrored, PerReplica
from simstrategy.errors import ContextError, InvalidType


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


LISTS = (
    "merge_call takes a list or tuple as args and a mapping as kwargs, got {}. Write merge_call(merge_fn, "
    "args=(value,))."
)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((5,), "merge_call takes a function merge_fn(strategy, *args, **kwargs), got 5."),
        ((print, 5), LISTS.format("5 and None")),
        ((print, (), [1]), LISTS.format("() and [1]")),
    ],
)
def test_what_cannot_be_called_so_is_refused(mirrored, count, arguments, text):
    with pytest.raises(InvalidType) as raised:
        mirrored(count).run(lambda: ctx().merge_call(*arguments))
    assert str(raised.value) == text


def test_each_wrong_context_has_its_own_text(mirrored):
    strategy, other, kept = mirrored(2), mirrored(2), []
    strategy.run(lambda: kept.append(ctx()))

    def refused(where):
        with pytest.raises(ContextError) as raised:
            where(lambda: kept[1].merge_call(lambda merging: None))
        return str(raised.value)

    def in_scope(call):
        with strategy.scope():
            call()

    stale = (
        "Need to be inside the replica function: merge_call was called on the context of replica 1, and no replica "
        "runs here. Ask get_replica_context() inside run."
    )
    assert refused(in_scope) == stale
    assert refused(lambda call: call()) == stale
    assert refused(lambda call: strategy.run(lambda: ctx().merge_call(lambda merging: call()))) == stale
    assert refused(strategy.run) == (
        "Mismatching ReplicaContext: merge_call was called on the context of replica 1 inside replica 0. Ask "
        "get_replica_context() anew in each replica."
    )
    assert refused(other.run) == (
        f"Mismatching strategies: merge_call was called on a context of {strategy!r} inside {other!r}. Ask "
        f"get_replica_context() anew."
    )


def test_inside_a_merge_function_and_an_update_there_is_no_context_to_merge(mirrored):
    strategy = mirrored(2)
    with strategy.scope():
        v = ss.Variable(1.0)

    def inside(*_):
        assert ss.in_cross_replica_context()
        return ctx()

    assert strategy.run(lambda: ctx().merge_call(inside)) is None
    assert strategy.extended.update(v, inside) is None


def test_a_replica_context_has_what_its_page_promises(mirrored):
    strategy = mirrored(2)

    def look():
        context = ctx()
        return (
            context.strategy is strategy,
            context.num_replicas_in_sync,
            context.devices,
            context.xp is strategy.xp,
            np.asarray(context.all_gather(np.float32([rank()]), 0)).tolist(),
            float(context.all_reduce("SUM", 1.0)),
            0 <= context.seed("here") < 2**64,
        )

    result = strategy.run(look)
    assert (result[0], result[1], result[2][0].values) == (True, 2, ("sim:0", "sim:1"))
    assert (result[3], result[4][0].values, result[4][1].values, result[6]) == (True, (0.0, 0.0), (1.0, 1.0), True)
