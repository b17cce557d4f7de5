"""What the fields of a recording's lines are: counts, texts, or lists of them.  Nothing of a line is kept here."""

from collections.abc import Callable, Mapping
from typing import Any, Final

__all__ = ["require_fields", "require_header"]

_NUMBER_MAX: Final = 2**63
"""Above every place, size and number of a recording."""

Test = Callable[[Any], bool]
Field = tuple[str, Test]
"""What a field is, in words, and whether a value is that."""


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < _NUMBER_MAX


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _or_null(test: Test) -> Test:
    return lambda value: value is None or test(value)


def _list_of(test: Test) -> Test:
    return lambda value: isinstance(value, list | tuple) and all(map(test, value))


def _is_pair_of_counts(value: Any) -> bool:
    return _list_of(_is_count)(value) and len(value) == len(("first", "count"))


def _is_leaf(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == len(("path", "value")) and _is_text(value[0])


_COUNT: Final[Field] = "a number from 0", _is_count
_COUNT_OR_NULL: Final[Field] = "a number from 0, or null", _or_null(_is_count)
_TEXT: Final[Field] = "a text", _is_text
_TEXT_OR_NULL: Final[Field] = "a text, or null", _or_null(_is_text)
_TEXTS: Final[Field] = "a list of texts", _list_of(_is_text)
_ROWS: Final[Field] = "a list of lists of numbers from 0", _list_of(_list_of(_is_count))
_PLACE: Final[dict[str, Field]] = {"worker": _COUNT, "step": _COUNT}

_FIELDS: Final[dict[str, dict[str, Field]]] = {
    "value": {
        "value": _COUNT,
        "dtype": _TEXT,
        "shape": ("a list of numbers from 0", _list_of(_or_null(_is_count))),
    },
    "point": {
        **_PLACE,
        "point": _COUNT,
        "kind": _TEXT,
        **dict.fromkeys(("op", "subject"), _TEXT_OR_NULL),
        "axis": ("a number, or null", _or_null(lambda value: type(value) is int)),
        "replicas": ("a list of numbers from 0, or nulls", _list_of(_or_null(_is_count))),
        "sites": _TEXTS,
        "in": _ROWS,
    },
    "end": {"end": _COUNT},
    "write": {
        **_PLACE,
        "write": _COUNT,
        **dict.fromkeys(("variable", "operation", "site"), _TEXT),
        **dict.fromkeys(("replica", "during"), _COUNT_OR_NULL),
        **dict.fromkeys(("before", "after"), ("a list of numbers from 0", _list_of(_is_count))),
    },
    "parts": {
        **_PLACE,
        "parts": _COUNT,
        "epoch": _COUNT,
        "digests": _TEXTS,
        "rows": ("a list of pairs of numbers from 0", _list_of(_is_pair_of_counts)),
    },
    "printed": {"printed": _COUNT, "worker": _COUNT, "replica": _COUNT_OR_NULL, "text": _TEXT},
    "result": {"result": _COUNT, "leaves": ("a list of paths, each with a number", _list_of(_is_leaf))},
}
"""The fields that a line of each kind has to have."""

_HEADER: Final[dict[str, Field]] = {
    "source": (
        "texts by name",
        lambda value: isinstance(value, Mapping) and all(map(_is_text, value.values())),
    ),
    **dict.fromkeys(("replicas", "workers"), _COUNT),
    **dict.fromkeys(("order", "command", "profile", "schedule", "backend", "kind", "arrivals"), _TEXT),
}

_MAY_HAVE: Final[dict[str, dict[str, Field]]] = {
    "value": {"digest": _TEXT, "not_finite": _COUNT},
    "point": {"requests": _TEXTS},
    "end": {"out": _ROWS},
    "parts": {"site": _TEXT},
    "result": {"site": _TEXT},
}


def require_fields(kind: str, line: Mapping[str, Any]) -> None:
    """Raises KeyError for a field that a line of this kind lacks, and TypeError for one that is something else."""
    for name, field in _FIELDS.get(kind, {}).items():
        _require(name, line[name], field)
    for name, field in _MAY_HAVE.get(kind, {}).items():
        if name in line:
            _require(name, line[name], field)


def require_header(header: Mapping[str, Any]) -> None:
    """Raises TypeError for facts of a header that are something else, and leaves out those that are not known."""
    for name, field in _HEADER.items():
        if header.get(name) is not None:
            _require(name, header[name], field)


def _require(name: str, value: Any, field: Field) -> None:
    what, test = field
    if not test(value):
        raise TypeError(f"{name} is not {what}")
