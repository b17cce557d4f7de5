"""What a compiled program makes its ranks do together, read from XLA's text of it.

Reads the text alone; `checking.py` compares it with a step's requests. Source of the form: the text that XLA prints of
a scheduled module, as seen with jaxlib 0.10.2 and libtpu 0.0.52.
"""

import math
import re
from typing import Final

from simstrategy.device import Collective
from simstrategy.errors import InvalidArgument

__all__ = ["collectives_in"]

_KINDS: Final = (
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "collective-permute",
    "collective-broadcast",
)
_CALL: Final = re.compile(
    r"^\s*(?:ROOT )?%?(?P<name>[\w.-]+) = (?P<types>\(.*?\)|\S+) (?P<kind>"
    + "|".join(_KINDS)
    + r")(?P<start>-start)?\("
)
_TYPE: Final = re.compile(r"(?P<dtype>[a-z]+[0-9]*(?:e\dm\d\w*)?)\[(?P<sizes>[0-9,]*)\]")
_GROUPS: Final = re.compile(r"replica_groups=(?P<groups>\{\{.*?\}\}|\{\}|\[[^ ]*?\](?:<=\[[0-9,]+\](?:T\([0-9,]+\))?))")
_REDUCER: Final = re.compile(r"to_apply=%?([\w.-]+)")
_BODY: Final = re.compile(r"^%?(?P<name>[\w.-]+) \(.*\) -> .* \{$")
_ROOT: Final = re.compile(r"^\s*ROOT %?[\w.-]+ = \S+ (?P<kind>[a-z-]+)\(")
_DTYPES: Final = {
    **{f"{short}{bits}": f"{name}{bits}" for short, name in (("s", "int"), ("u", "uint")) for bits in (8, 16, 32, 64)},
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    "bf16": "bfloat16",
    "c64": "complex64",
    "c128": "complex128",
    "pred": "bool",
}
_REDUCERS: Final = {"add": "SUM", "maximum": "MAX", "minimum": "MIN", "multiply": "PROD", "and": "AND", "or": "OR"}


def collectives_in(text: str) -> tuple[Collective, ...]:
    """Returns the collectives of a program's text, array by array.  Raises InvalidArgument for an unknown form."""
    reducers = _reducers(text)
    found: list[Collective] = []
    for line in text.splitlines():
        call = _CALL.match(line)
        if call is None:
            continue
        kind, types = call["kind"], _TYPE.findall(call["types"])
        if call["start"] and kind != "all-reduce":
            # An asynchronous call's result holds its operands, then its results, then flags.
            arrays = [one for one in types if one != ("u32", "")]
            types = arrays[len(arrays) // 2 :]
        applied = _REDUCER.search(line)
        reducer = reducers.get(applied[1], applied[1]) if applied else None
        groups = _groups(line)
        for dtype, sizes in types:
            elements = math.prod(int(size) for size in sizes.split(",") if size)
            found.append(Collective(kind, reducer, _DTYPES.get(dtype, dtype), elements, groups))
    return tuple(found)


def _reducers(text: str) -> dict[str, str]:
    """Returns what each of the program's small functions does with two numbers."""
    found, name = {}, ""
    for line in text.splitlines():
        body, root = _BODY.match(line), _ROOT.match(line)
        if body:
            name = body["name"]
        elif line == "}":
            name = ""
        elif root and name:
            found[name] = _REDUCERS.get(root["kind"], root["kind"])
    return found


def _groups(line: str) -> tuple[tuple[int, ...], ...]:
    match = _GROUPS.search(line)
    if match is None or match["groups"] == "{}":
        return ()
    text = match["groups"]
    if text.startswith("{{"):
        return tuple(tuple(int(rank) for rank in group.split(",") if rank) for group in text[2:-2].split("},{"))
    return _iota_groups(text)


def _iota_groups(text: str) -> tuple[tuple[int, ...], ...]:
    """Reads `[groups,size]<=[a,b]T(1,0)`: the numbers 0, 1, … in shape [a,b], transposed, cut into groups."""
    parts = re.fullmatch(r"\[(\d+),(\d+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?", text)
    if parts is None:
        raise InvalidArgument(f"XLA wrote replica groups as {text!r}, a form that is not known here.")
    count, size = int(parts[1]), int(parts[2])
    shape = [int(one) for one in parts[3].split(",")]
    order = [int(one) for one in parts[4].split(",")] if parts[4] else list(range(len(shape)))
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    ranks = [0]
    for axis in order:
        ranks = [rank + step * strides[axis] for rank in ranks for step in range(shape[axis])]
    return tuple(tuple(ranks[start : start + size]) for start in range(0, count * size, size))
