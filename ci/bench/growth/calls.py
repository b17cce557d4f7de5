"""The collective calls of replicas, in the forms in which programs write them."""

import numpy as np

import simstrategy as ss
from ci.bench.growth.style import REPLICAS, Sizes, in_replicas

__all__ = ["STYLES"]

_FEW = Sizes((64, 256, 1024), (64, 256, 1024))
"""For threads: a process has a limit of them."""
_HOST = np.arange(16, dtype=np.float32)


def _twice(op, make):
    """Returns a body that makes two values and all-reduces each: the second call is like the first one."""

    def body(ctx):
        for _ in range(2):
            ctx.all_reduce(op, make(ctx))

    return body


def _ones(ctx):
    return ctx.xp.ones((16,))


def _text_made_anew(ctx):
    for _ in range(2):
        ctx.all_reduce("".join(["su", "m"]), ctx.xp.ones((16,)))


def _from_two_lines(ctx):
    if ctx.replica_id_in_sync_group % 2:
        return ctx.all_reduce("SUM", 1.0)
    return ctx.all_reduce("SUM", 1.0)


def _alternating(ctx):
    for size in (4, 8, 4, 8):
        ctx.all_reduce("SUM", ctx.xp.ones((size,)))


def _merge(strategy, value):
    return strategy.reduce("MEAN", value, axis=None)


def _merged(ctx):
    return ctx.merge_call(_merge, args=(ctx.xp.ones((4,)),))


def _merged_closure(ctx):
    scale = np.float32(2)
    return ctx.merge_call(lambda strategy, value: strategy.reduce("SUM", value, axis=None) * scale, args=(_ones(ctx),))


def _returned(ctx, images, labels):
    return {"loss": ctx.xp.sum(images), "parts": [labels, {"id": ctx.replica_id_in_sync_group}]}


def _per_replica(strategy, count):
    parts = ss.PerReplica([np.full(4, rank, np.float32) for rank in range(count)])
    return parts, {"labels": [parts, parts]}


STYLES = {
    "all_reduce(ReduceOp.SUM, xp array)": in_replicas(_twice(ss.ReduceOp.SUM, _ones)),
    'all_reduce("SUM", xp array)': in_replicas(_twice("SUM", _ones)),
    "all_reduce(text made anew, xp array)": in_replicas(_text_made_anew),
    "all_reduce(ReduceOp.SUM, NumPy array)": in_replicas(_twice(ss.ReduceOp.SUM, lambda ctx: np.ones(16, np.float32))),
    'all_reduce("SUM", NumPy array)': in_replicas(_twice("SUM", lambda ctx: np.ones(16, np.float32))),
    'all_reduce("SUM", one NumPy array of all)': in_replicas(_twice("SUM", lambda ctx: _HOST)),
    'all_reduce("SUM", 1.5)': in_replicas(_twice("SUM", lambda ctx: 1.5)),
    'all_reduce("SUM", [1.5, 2])': in_replicas(_twice("SUM", lambda ctx: [1.5, 2])),
    'all_reduce("SUM", nest of xp arrays)': in_replicas(
        _twice("SUM", lambda ctx: {"a": _ones(ctx), "b": [_ones(ctx)]})
    ),
    'all_reduce("SUM", nest of NumPy arrays)': in_replicas(_twice("SUM", lambda ctx: {"a": _HOST, "b": [_HOST]})),
    'all_reduce("MEAN", xp array)': in_replicas(_twice("MEAN", _ones)),
    'all_reduce("MEAN", NumPy integers)': in_replicas(_twice("MEAN", lambda ctx: np.arange(4))),
    "all_reduce of two forms by turns": in_replicas(_alternating),
    "all_reduce with a name": in_replicas(lambda ctx: ctx.all_reduce("SUM", 1.5, name="loss")),
    "all_reduce from two lines": in_replicas(_from_two_lines),
    "all_reduce, call paths compared": in_replicas(_twice("SUM", _ones), checks="paths"),
    "all_reduce, a seeded schedule": in_replicas(_twice("SUM", _ones), schedule=lambda: ss.schedules.Seeded(0)),
    "all_reduce, traced": in_replicas(_twice("SUM", _ones), trace=ss.trace.Trace),
    "all_reduce, recorded": in_replicas(_twice("SUM", lambda ctx: np.ones(16, np.float32)), trace=ss.trace.Recorder),
    "all_reduce, tree order": in_replicas(_twice("SUM", _ones), order="tree"),
    "all_reduce in threads": in_replicas(_twice("SUM", _ones), executor="thread", sizes=_FEW),
    "all_reduce, generators isolated": in_replicas(_twice("SUM", _ones), isolate=True),
    "all_gather(xp array)": in_replicas(lambda ctx: ctx.all_gather(ctx.xp.ones((1, 2)), axis=0), sizes=REPLICAS),
    "all_gather(nest of NumPy arrays)": in_replicas(lambda ctx: ctx.all_gather([_HOST, {"a": _HOST}], axis=0)),
    "merge_call": in_replicas(_merged),
    "merge_call of a closure": in_replicas(_merged_closure),
    "require_equal": in_replicas(lambda ctx: ctx.require_equal({"a": _HOST, "b": 1.5})),
    "seed": in_replicas(lambda ctx: ctx.seed("noise")),
    "run(PerReplica arguments) that returns a nest": in_replicas(
        lambda ctx, images, nest: _returned(ctx, images, nest["labels"][0]), arguments=_per_replica
    ),
}
