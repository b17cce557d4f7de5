"""When two arrays on the host are one value, to the bit, and a number that states it."""

from typing import Any

import numpy as np

from simstrategy.digests import blake2b

__all__ = ["fingerprint", "plain"]


def plain(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns an array [any shape] with one zero and one NaN: their signs and payloads are no difference of values."""
    if array.dtype.kind not in "fc":
        return array
    parts = array if array.dtype.kind == "f" else np.stack([array.real, array.imag], axis=-1)
    return np.where(np.isnan(parts), np.asarray(np.nan, parts.dtype), parts + np.asarray(0, parts.dtype))


def fingerprint(data: bytes) -> int:
    """Returns a number from 1 to 2**56, equal for equal bytes and, but for one pair in 2**56, for no others."""
    return 1 + int.from_bytes(blake2b(data, digest_size=7).digest(), "little")
