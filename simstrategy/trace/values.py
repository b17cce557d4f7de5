"""The values of a recording: described once each, and kept whole where they are small.

A line of the table of values has dtype and shape, and the bytes of a small value, or digest, least, greatest and first
elements of a large one.
"""

import math
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from xxhash import xxh3_128

__all__ = [
    "ROW_DIGEST_CHARACTERS",
    "Host",
    "Unreadable",
    "Value",
    "describe",
    "describe_whole",
    "is_text",
    "row_digests",
    "value_digest",
    "value_of",
]

Host = np.ndarray[Any, Any]

_FIRST_BYTES: Final = 32
_DIGEST_CHARACTERS: Final = 24
_ROW_DIGEST_BYTES: Final = 6
ROW_DIGEST_CHARACTERS: Final = 8
_TEXT_KINDS: Final = "USOmM"
_VOID: Final = np.dtype(np.void).num
"""NumPy's number of records and of bytes without a type; bfloat16 has another one."""
_NAMES: Final[dict[int, str]] = {}
"""Of dtypes of numbers, by NumPy's number of them."""


class Unreadable(NamedTuple):
    """An array without a value, as while a framework traces a graph; a shape may have unknown sizes."""

    shape: tuple[int | None, ...]
    dtype: str


class Value(NamedTuple):
    """One value of a recording.

    digest: equal for values of equal dtype, shape and bytes; "" for an array that had no value. low, high: the least
    and the greatest finite element; None where there is none, and for texts and complex numbers. not_finite: how many
    elements are not finite. array: the value on the host, read-only; None where only its first elements were kept.
    first: the first elements, [n], all of them where array is not None. bfloat16 is float32 in
    array and first.
    """

    dtype: str
    shape: tuple[int | None, ...]
    digest: str
    low: float | None
    high: float | None
    not_finite: int
    array: Host | None
    first: Host


def is_text(host: Host) -> bool:
    """Returns whether the elements of an array are no numbers: a recording has their texts."""
    return host.dtype.kind in _TEXT_KINDS or host.dtype.num == _VOID


def dtype_name(host: Host) -> str:
    """Returns the name of an array's dtype: NumPy makes it anew each time."""
    number = host.dtype.num
    if number not in _NAMES:
        _NAMES[number] = host.dtype.name
    return _NAMES[number]


def describe_whole(host: Host, data: bytes) -> dict[str, Any]:
    """Returns the fields of the line of a value [any shape] of numbers that is kept whole."""
    return {"dtype": dtype_name(host), "shape": list(host.shape), "data": b64encode(data).decode()}


def digest_of(dtype: str, shape: tuple[int, ...], data: bytes | memoryview) -> str:
    """Returns a text that is equal for equal values."""
    made = xxh3_128(f"{dtype}{list(shape)}".encode())
    made.update(data)
    return made.hexdigest()[:_DIGEST_CHARACTERS]


def value_digest(host: Host) -> str:
    """Returns the `digest` that a value has in a recording; host: [any shape] of numbers."""
    return digest_of(host.dtype.name, host.shape, host.tobytes())


def describe(host: Host, text_max: int) -> dict[str, Any]:
    """Returns the fields of the line of a value [any shape] that is not kept whole, and of one of texts.

    text_max: how many characters of texts are kept.
    """
    dtype, shape = dtype_name(host), list(host.shape)
    if is_text(host):
        texts = [str(one) for one in host.reshape(-1).tolist()]
        kept, size = [], 0
        for text in texts:
            size += len(text)
            if size > text_max:
                break
            kept.append(text)
        line: dict[str, Any] = {"dtype": "text", "shape": shape, "texts": kept}
        if len(kept) < len(texts):
            line["digest"] = digest_of("text", host.shape, repr(texts).encode("utf-8", "surrogatepass"))
        return line
    low, high, not_finite = _range(host)
    return {
        "dtype": dtype,
        "shape": shape,
        "digest": digest_of(dtype, host.shape, np.ascontiguousarray(host).reshape(-1).view(np.uint8).data),
        "low": low,
        "high": high,
        "not_finite": not_finite,
        "first": b64encode(host.reshape(-1)[: max(1, _FIRST_BYTES // host.itemsize)].tobytes()).decode(),
    }


def value_of(line: Mapping[str, Any]) -> Value:
    """Returns the value that a line describes.  Raises KeyError, TypeError and ValueError for what is none."""
    dtype, shape = str(line["dtype"]), tuple(line["shape"])
    if dtype == "text":
        texts = np.asarray([str(one) for one in line["texts"]] or [""], dtype=np.str_)[: len(line["texts"])]
        whole = texts.reshape(shape) if "digest" not in line else None
        digest = line.get("digest") or digest_of("text", shape, repr(texts.tolist()).encode("utf-8", "surrogatepass"))
        return Value(dtype, shape, digest, None, None, 0, _frozen(whole), _frozen(texts))
    if "data" in line:
        data = b64decode(line["data"], validate=True)
        flat = _elements(dtype, data)
        array = flat.reshape(shape)
        low, high, not_finite = _range(array)
        return Value(dtype, shape, digest_of(dtype, shape, data), low, high, not_finite, array, flat)
    if "digest" not in line:
        return Value(dtype, shape, "", None, None, 0, None, np.zeros(0))
    first = _elements(dtype, b64decode(line["first"], validate=True))
    low, high = [None if line[name] is None else line[name] + 0 for name in ("low", "high")]
    return Value(dtype, shape, str(line["digest"]), low, high, int(line["not_finite"]), None, first)


def _frozen(array: Any) -> Any:
    if array is not None:
        array.flags.writeable = False
    return array


def _elements(dtype: str, data: bytes) -> Host:
    if dtype == "bfloat16":
        # NumPy has none: its bits are the upper half of a float32's.
        return (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)
    return np.frombuffer(data, np.dtype(dtype).newbyteorder("<")).astype(dtype, copy=False)


def _range(host: Host) -> tuple[float | None, float | None, int]:
    """Returns the least and the greatest finite element, and how many are not finite."""
    if not host.size or host.dtype.kind == "c":
        return None, None, 0 if not host.size else int(host.size - np.count_nonzero(np.isfinite(host)))
    wide = host.astype(np.float32) if host.dtype.itemsize == 2 and host.dtype.kind not in "iu" else host
    low, high = wide.min(), wide.max()
    if wide.dtype.kind != "f" or (math.isfinite(low) and math.isfinite(high)):
        return low.item(), high.item(), 0
    finite = wide[np.isfinite(wide)]
    if not finite.size:
        return None, None, wide.size
    return finite.min().item(), finite.max().item(), wide.size - finite.size


def row_digests(leaves: list[Any], limit: int) -> tuple[int, str]:
    """Returns the number of rows of a part, and for each of the first rows so many characters, equal for equal rows.

    leaves: arrays [rows, …]. Arrays of other numbers of rows, and what is no array, are left out.
    """
    arrays = [leaf for leaf in leaves if isinstance(leaf, np.ndarray)]
    if not arrays:
        return 0, ""
    count = len(arrays[0]) if arrays[0].ndim else 1
    shown = min(count, limit)
    columns = []
    for array in arrays:
        if array.dtype.kind in _TEXT_KINDS:
            texts = array[:shown].tolist() if array.ndim else [array.item()]
            columns.append([repr(text).encode("utf-8", "surrogatepass") for text in texts])
        elif not array.ndim or (len(array) == count and array.size):
            data = np.ascontiguousarray(array[:shown] if array.ndim else array).tobytes()
            size = len(data) // max(shown, 1)
            columns.append([data[at : at + size] for at in range(0, len(data), size or 1)])
    digests = [xxh3_128(b"\0".join(row)).digest()[:_ROW_DIGEST_BYTES] for row in zip(*columns, strict=True)]
    return count, b64encode(b"".join(digests)).decode()
