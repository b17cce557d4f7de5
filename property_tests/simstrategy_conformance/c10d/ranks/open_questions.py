"""What the documentation of `torch.distributed` leaves open: each function returns in words what the backend does.

None of them accuses: two backends may differ here and both be right.
"""

from collections.abc import Sequence

import torch
import torch.distributed as dist

from simstrategy_conformance.c10d.answers import Refused
from simstrategy_conformance.c10d.ranks.scene import Scene, refusing

__all__ = [
    "asynchronous_calls",
    "averages_of_integers",
    "maxima_with_nan",
    "other_tensors_of_reduce",
    "overflows",
    "sums_of_bools",
]

_WAITED_S = 0.5


def averages_of_integers(scene: Scene) -> str:
    """Returns what AVG makes of int64 sums that the number of ranks does not divide."""
    number = 3 * scene.me + 1
    return _reduced(scene, [number, -number], torch.int64, dist.ReduceOp.AVG)


def sums_of_bools(scene: Scene) -> str:
    """Returns what SUM makes of bools, as bytes."""
    return _reduced(scene, [True, False], torch.bool, dist.ReduceOp.SUM)


def overflows(scene: Scene) -> str:
    """Returns what SUM makes of int8 numbers whose sum is over 127."""
    return _reduced(scene, [100, -100], torch.int8, dist.ReduceOp.SUM)


def maxima_with_nan(scene: Scene) -> str:
    """Returns what MAX makes of 1 and NaN, where the first member has the NaN, and where the last one has it."""
    nan = float("nan")
    first, last = scene.me == 0, scene.me == scene.size - 1
    return _reduced(scene, [nan if first else 1.0, nan if last else 1.0], torch.float32, dist.ReduceOp.MAX)


def other_tensors_of_reduce(scene: Scene) -> str:
    """Returns what becomes of the tensor of a member that is not the destination of reduce."""
    tensor = torch.full((4,), 2.0, device=scene.device)
    try:
        refusing(lambda: dist.reduce(tensor, scene.members[0], group=scene.group))
    except Refused as error:
        return f"refused: {error}"
    return "" if scene.me == 0 else "kept" if tensor.tolist() == [2.0] * 4 else "changed"


def asynchronous_calls(scene: Scene) -> str:
    """Returns whether an asynchronous all_reduce returns before the last member has called it."""
    tensor = torch.ones(4, device=scene.device)
    last = scene.size - 1
    returned = True
    if scene.me == last:
        returned = scene.marks.await_all([f"{scene.number}-{one}" for one in range(last)], _WAITED_S)
    try:
        work = refusing(lambda: dist.all_reduce(tensor, group=scene.group, async_op=True))
        scene.marks.put(f"{scene.number}-{scene.me}")
        refusing(work.wait)
    except Refused as error:
        return f"refused: {error}"
    if scene.me != last:
        return ""
    return "return before all ranks have called" if returned else "wait until all ranks have called"


def _reduced(scene: Scene, numbers: Sequence[float], dtype: torch.dtype, op: dist.ReduceOp.RedOpType) -> str:
    tensor = torch.tensor(numbers, dtype=dtype, device=scene.device)
    try:
        refusing(lambda: dist.all_reduce(tensor, op, scene.group))
    except Refused as error:
        return f"refused: {error}"
    shown = tensor.view(torch.uint8) if dtype == torch.bool else tensor
    return str(shown.tolist())
