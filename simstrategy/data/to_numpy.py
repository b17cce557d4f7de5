"""Arrays of other libraries as NumPy's: whichever device they are on, and whether they take part in a gradient.

It imports none of these libraries: what is asked of a value is what `np.asarray` asks, and one method more.
"""

from typing import Any, Protocol, runtime_checkable

import numpy as np

from simstrategy.errors import InvalidArgument, InvalidType, Unsupported

__all__ = ["as_numpy"]


@runtime_checkable
class _Tensor(Protocol):
    """A tensor of PyTorch, which NumPy takes by itself only from the host, and out of no gradient."""

    dtype: Any

    def detach(self) -> Any: ...

    def cpu(self) -> Any: ...

    def numpy(self, *, force: bool) -> np.ndarray[Any, Any]: ...


def as_numpy(value: Any, where: str) -> np.ndarray[Any, Any]:
    """Returns a value as an array on the host; where: which step asks, for the error.

    Tensors of PyTorch come from any device, and without their gradient. Raises InvalidArgument for rows of
    unequal length, InvalidType for what NumPy does not take, and Unsupported for bfloat16 without its extra.
    """
    try:
        if not isinstance(value, _Tensor):
            return np.asarray(value)
        if str(value.dtype) != "torch.bfloat16":
            return value.numpy(force=True)
        # Every bfloat16 is a float32, so that the way over it changes none.
        wide: np.ndarray[Any, Any] = value.detach().float().numpy(force=True)
    except ValueError as error:
        raise InvalidArgument(f"{where} got rows of unequal length: {error}. Pad them to one shape first.") from error
    except (TypeError, RuntimeError) as error:
        raise InvalidType(
            f"{where} got a {type(value).__name__} that NumPy does not take: {error}. Elements are nests of arrays of "
            f"numbers or texts: convert it first."
        ) from error
    return _narrowed(wide)


def _narrowed(wide: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    try:
        import ml_dtypes  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise Unsupported("bfloat16 needs the package ml_dtypes: pip install 'simstrategy[bfloat16]'.") from error
    return wide.astype(ml_dtypes.bfloat16)
