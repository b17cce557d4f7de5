"""Converts arrays of other libraries to NumPy arrays, from any device, with or without a gradient.

It imports none of these libraries: it uses what `np.asarray` uses, and the methods of PyTorch's tensors.
"""

from typing import Any, Protocol, runtime_checkable

import numpy as np

from simstrategy.errors import InvalidArgument, InvalidType, Unsupported

__all__ = ["as_numpy"]


@runtime_checkable
class _Tensor(Protocol):
    """A tensor of PyTorch.  `np.asarray` accepts one only if it is on the host and requires no gradient."""

    dtype: Any

    def detach(self) -> Any: ...

    def cpu(self) -> Any: ...

    def numpy(self, *, force: bool) -> np.ndarray[Any, Any]: ...


def as_numpy(value: Any, where: str) -> np.ndarray[Any, Any]:
    """Converts a value to an array on the host.

    where: the name of the step, for the error message. Tensors of PyTorch are copied from any device and lose their
    gradient. Raises InvalidArgument for rows of unequal length, InvalidType for a value that NumPy cannot convert,
    and Unsupported for bfloat16 without the extra `bfloat16`.
    """
    try:
        if not isinstance(value, _Tensor):
            return np.asarray(value)
        if str(value.dtype) != "torch.bfloat16":
            return value.numpy(force=True)
        # Every bfloat16 is a float32 too, so this conversion changes no value.
        wide: np.ndarray[Any, Any] = value.detach().float().numpy(force=True)
    except ValueError as error:
        raise InvalidArgument(f"{where} got rows of unequal length: {error}. Pad them to one shape first.") from error
    except (TypeError, RuntimeError) as error:
        raise InvalidType(
            f"{where} got a {type(value).__name__} that NumPy cannot convert: {error}. Elements are nests of arrays of "
            f"numbers or texts: convert it first."
        ) from error
    return _narrowed(wide)


def _narrowed(wide: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    try:
        import ml_dtypes  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise Unsupported("bfloat16 needs the package ml_dtypes: pip install 'simstrategy[bfloat16]'.") from error
    return wide.astype(ml_dtypes.bfloat16)
