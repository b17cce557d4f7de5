"""Calls that combine the members' tensors: all_reduce, reduce, reduce_scatter.

Sources: the documentation of `torch.distributed`, sections "Collective functions" and "ReduceOp".
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import torch.distributed as dist

from simstrategy_conformance.c10d import wanted
from simstrategy_conformance.c10d.answers import Refused, Wrong
from simstrategy_conformance.c10d.inputs import carrier_of
from simstrategy_conformance.c10d.ranks.scene import Scene, refusing
from simstrategy_conformance.c10d.ranks.tensors import Held, digest_of

__all__ = [
    "all_reduce",
    "all_reduce_coalesced",
    "all_reduce_rounded",
    "op_of",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_stacked",
    "several_at_once",
]

Host = np.ndarray[Any, Any]
FACTOR: Final = 0.5
"""Of PREMUL_SUM: exact in every floating dtype."""


def op_of(scene: Scene) -> str:
    """Returns the reduction of a row; a row whose field names a call sums."""
    op = scene.row.op
    return op if op in wanted.COMBINE or op in ("AVG", "PREMUL_SUM") else "SUM"


def torch_op(name: str) -> Any:
    """Returns torch's object for a reduction.  Raises Refused where this build of torch cannot make it."""
    if name != "PREMUL_SUM":
        return vars(dist.ReduceOp)[name]
    make = vars(dist).get("_make_nccl_premul_sum")
    if make is None:
        raise Refused("this build of torch has no way to make a PREMUL_SUM, which is documented for NCCL alone")
    return make(FACTOR)


def require_combined(scene: Scene, held: Held, arrays: Sequence[Host], what: str) -> Host:
    """Fails unless a tensor holds what the members' arrays, [...] each, combine to; returns what it holds."""
    op = op_of(scene)
    if op == "AVG":
        bound = wanted.average_bound(arrays, scene.row.dtype)
        return scene.require(held, wanted.average(arrays), what, bound=bound)
    if op == "PREMUL_SUM":
        arrays = [np.asarray(array * FACTOR, array.dtype) for array in arrays]
        return scene.require(held, wanted.combined(arrays, "SUM"), what)
    return scene.require(held, wanted.combined(arrays, op), what)


def all_reduce(scene: Scene) -> int:
    """Examines all_reduce; returns the digest of the result, which is bitwise identical in all processes."""
    op = op_of(scene)
    held = scene.hold(scene.array(scene.me, op=op))
    _all_reduce(scene, held, op)
    return digest_of(require_combined(scene, held, scene.arrays(op=op), "the result"))


def all_reduce_rounded(scene: Scene) -> int:
    """Examines sums that round: each is within the bound, and bitwise identical in all processes."""
    draws = [np.random.default_rng([scene.row.lengths.size, index, scene.repeat]) for index in range(scene.size)]
    shape, carrier = scene.array(0).shape, carrier_of(scene.row.dtype)
    arrays = [np.asarray(draw.normal(size=shape), carrier) for draw in draws]
    if scene.row.dtype == "bfloat16":  # of its 24 bits a float32 keeps the first 8 there
        arrays = [np.asarray(np.round(array * 32) / 32, carrier) for array in arrays]
    held = scene.hold(arrays[scene.me])
    _all_reduce(scene, held, "SUM")
    exact = np.asarray(sum(np.asarray(array, np.result_type(array, np.longdouble)) for array in arrays))
    return digest_of(scene.require(held, exact, "the result", bound=wanted.sum_bound(arrays, scene.row.dtype)))


def _all_reduce(scene: Scene, held: Held, op: str) -> None:
    given = torch_op(op)
    scene.run(
        lambda later: dist.all_reduce(held.tensor, given, scene.group, async_op=later),
    )


def all_reduce_coalesced(scene: Scene) -> int:
    """Examines all_reduce_coalesced of two tensors."""
    op = op_of(scene)
    hosts = [scene.array(scene.me, op=op, copy=copy) for copy in range(2)]
    held = [scene.hold(host) for host in hosts]
    given, tensors = torch_op(op), [one.tensor for one in held]
    scene.run(
        lambda later: dist.all_reduce_coalesced(tensors, given, scene.group, async_op=later),
    )
    for copy, one in enumerate(held):
        require_combined(scene, one, scene.arrays(op=op, copy=copy), f"tensor {copy}")
    return 0


def reduce(scene: Scene) -> int:
    """Examines reduce: the destination has the result; what the others' tensors hold is not documented."""
    op = op_of(scene)
    held = scene.hold(scene.array(scene.me, op=op))
    given, root = torch_op(op), scene.root
    scene.run(
        lambda later: dist.reduce(held.tensor, scene.members[root], given, scene.group, async_op=later),
        late=(root + 1) % scene.size,
        waits=(root,),
    )
    if scene.me == root:
        require_combined(scene, held, scene.arrays(op=op), "the destination's result")
    return 0


def reduce_scatter(scene: Scene) -> int:
    """Examines reduce_scatter of a list: member i has the combination of all members' tensors i."""
    op, copies = op_of(scene), range(scene.size)
    hosts = [scene.array(scene.me, op=op, copy=copy) for copy in copies]
    held, output = [scene.hold(host) for host in hosts], scene.blank(hosts[scene.me].shape)
    given, tensors = torch_op(op), [one.tensor for one in held]
    scene.run(
        lambda later: dist.reduce_scatter(output.tensor, tensors, given, scene.group, async_op=later),
        waits=copies,
    )
    require_combined(scene, output, scene.arrays(op=op, copy=scene.me), "the output")
    scene.require_all_kept(held, hosts)
    return 0


def reduce_scatter_single(scene: Scene) -> int:
    """Examines the form with one input tensor, a concatenation of the outputs."""
    return _reduce_scatter_single(scene, np.concatenate)


def reduce_scatter_stacked(scene: Scene) -> int:
    """Examines the form with one input tensor, a stack of the outputs."""
    return _reduce_scatter_single(scene, np.stack)


def _reduce_scatter_single(scene: Scene, join: Callable[[list[Host]], Host]) -> int:
    op, copies = op_of(scene), range(scene.size)
    hosts = [scene.array(scene.me, op=op, copy=copy) for copy in copies]
    held, output = scene.hold(join(hosts)), scene.blank(hosts[0].shape)
    given = torch_op(op)
    call = vars(dist).get("reduce_scatter_single") or dist.reduce_scatter_tensor
    scene.run(
        lambda later: call(output.tensor, held.tensor, given, scene.group, async_op=later),
        waits=copies,
    )
    require_combined(scene, output, scene.arrays(op=op, copy=scene.me), "the output")
    scene.require_kept(held, join(hosts))
    return 0


def several_at_once(scene: Scene) -> int:
    """Examines three calls of all_reduce that are made before one of them is waited for."""
    held = [scene.hold(scene.array(scene.me, op="SUM", copy=copy)) for copy in range(3)]
    works = [refusing(dist.all_reduce, one.tensor, dist.ReduceOp.SUM, scene.group, async_op=True) for one in held]
    for work in works:
        if work is None:
            raise Wrong("with async_op=True the call returned None, and no work")
        refusing(work.wait)
    for copy, one in enumerate(held):
        due = wanted.combined(scene.arrays(op="SUM", copy=copy), "SUM")
        scene.require(one, due, f"the result of call {copy + 1} of 3")
    return 0
