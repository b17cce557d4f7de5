"""Whether a value is as a JSON schema describes it, with the words that the kit's schemas use and no others.

It is no implementation of JSON Schema: references, conditions and formats are left out.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from simstrategy.short_repr import short_repr

__all__ = ["unlike"]

_KINDS: Final[Mapping[str, type | tuple[type, ...]]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
}


def unlike(value: Any, schema: Mapping[str, Any], place: str = "") -> str | None:
    """Returns the first place where a value is not as its schema describes it, and why; None where there is none.

    >>> unlike({"seed": "0"}, {"type": "object", "properties": {"seed": {"type": "integer"}}})
    "seed is no integer: '0'"
    """
    return next(_problems(value, schema, place), None)


def _problems(value: Any, schema: Mapping[str, Any], place: str) -> Iterator[str]:
    where = place or "the document"
    kind = schema["type"]
    # bool is an int of Python, and no number of JSON.
    if not isinstance(value, _KINDS[kind]) or (isinstance(value, bool) and kind != "boolean"):
        yield f"{where} is no {kind}: {short_repr(value)}"
        return
    if "const" in schema and value != schema["const"]:
        yield f"{where} is {short_repr(value)}, not {schema['const']!r}"
    if value not in schema.get("enum", [value]):
        yield f"{where} is {short_repr(value)}, none of {', '.join(schema['enum'])}"
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value, re.ASCII):
        yield f"{where} is {short_repr(value)}, which does not match {schema['pattern']}"
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _problems(item, schema["items"], f"{place}[{number}]")
    if isinstance(value, dict):
        yield from _of_object(value, schema, place)


def _of_object(value: dict[str, Any], schema: Mapping[str, Any], place: str) -> Iterator[str]:
    """Yields what is wrong with the keys of an object, and with the values of those that are known."""
    for key in schema.get("required", ()):
        if key not in value:
            yield f"{place or 'the document'} has no {key}"
    known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    for key, item in value.items():
        described = known.get(key, others)
        name = f"{place}.{key}" if place else key
        if described is False:
            yield f"{short_repr(name)} is not in the format"
        elif described is not True:
            yield from _problems(item, described, name)
