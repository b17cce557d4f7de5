"""Combines the tensors of all ranks, in the simulator's order of operations, with one rounding at each.

Source of the orders: `simstrategy.sim.collectives`. Where NumPy lacks the dtype, torch combines two arrays at a time.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import torch
from torch.distributed import ReduceOp

from simstrategy.errors import Unsupported
from simstrategy.sim.collectives import order_named

__all__ = ["combined", "op_name"]

Array = np.ndarray[Any, Any]

_OPS: Final[dict[str, Any]] = {
    "SUM": ReduceOp.SUM,
    "AVG": ReduceOp.AVG,
    "PRODUCT": ReduceOp.PRODUCT,
    "MIN": ReduceOp.MIN,
    "MAX": ReduceOp.MAX,
    "BAND": ReduceOp.BAND,
    "BOR": ReduceOp.BOR,
    "BXOR": ReduceOp.BXOR,
}


def _least(x1: Array, x2: Array, out: Array | None = None) -> Array:
    return np.asarray(np.minimum(x1, x2, out=out))


def _most(x1: Array, x2: Array, out: Array | None = None) -> Array:
    return np.asarray(np.maximum(x1, x2, out=out))


_IN_NUMPY: Final[dict[str, Callable[..., Any]]] = {
    "SUM": np.add,
    "AVG": np.add,
    "PRODUCT": np.multiply,
    "MIN": _least,
    "MAX": _most,
    "BAND": np.bitwise_and,
    "BOR": np.bitwise_or,
    "BXOR": np.bitwise_xor,
}
_IN_TORCH: Final[dict[str, Callable[..., torch.Tensor]]] = {
    "SUM": torch.add,
    "AVG": torch.add,
    "PRODUCT": torch.mul,
    "MIN": torch.minimum,
    "MAX": torch.maximum,
}
_DTYPES: Final = frozenset(
    {
        *(torch.bool, torch.uint8, torch.int8, torch.int32, torch.int64),
        *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
    }
)
"""Those that gloo combines; complex tensors come as pairs of real numbers."""
_BITWISE: Final = frozenset({"BAND", "BOR", "BXOR"})


def op_name(op: Any) -> str:
    """Returns the name of a reduction.  Raises Unsupported for one with a factor."""
    for name, one in _OPS.items():
        if op == one:
            return name
    raise Unsupported(
        "This reduction scales before it sums (PREMUL_SUM), which gloo has not. Scale the tensor, then SUM."
    )


def combined(tensors: Sequence[torch.Tensor], op: str, order: str) -> torch.Tensor:
    """Returns a new tensor, [n], of the ranks' tensors.

    tensors: one [n] per rank, in rank order. op: as `op_name` gives it. order: "linear", "ring" or "tree". AVG divides
    the sum by the number of ranks. Raises Unsupported for an operation that the dtype has not.
    """
    dtype = tensors[0].dtype
    if dtype not in _DTYPES:
        raise Unsupported(f"gloo combines no tensors of {str(dtype)[6:]}. Convert the tensor, for example to float32.")
    floating = dtype.is_floating_point or dtype.is_complex
    if (op in _BITWISE and floating) or (op == "AVG" and not floating):
        kind = "floating-point" if floating else "integer"
        raise Unsupported(
            f"{op} of {kind} tensors is not defined, got {str(dtype)[6:]}. Convert the tensor, or take SUM."
        )
    fold = order_named(order)
    if dtype == torch.bfloat16:
        total = torch.from_numpy(fold([one.view(torch.int16).numpy() for one in tensors], _bfloat16(_IN_TORCH[op])))
        total = total.view(dtype)
    else:
        with np.errstate(all="ignore"):  # as torch does
            total = torch.from_numpy(fold([one.numpy() for one in tensors], _IN_NUMPY[op]))
    return total / len(tensors) if op == "AVG" else total


def _bfloat16(function: Callable[..., torch.Tensor]) -> Callable[..., Any]:
    """Returns a function of two NumPy arrays, of int16, whose bits are bfloat16; a third one receives the result."""

    def pair(x1: Array, x2: Array, out: Array | None = None) -> Array:
        first, second = (torch.from_numpy(one).view(torch.bfloat16) for one in (x1, x2))
        if out is None:
            return np.asarray(function(first, second).view(torch.int16).numpy())
        function(first, second, out=torch.from_numpy(out).view(torch.bfloat16))
        return out

    return pair
