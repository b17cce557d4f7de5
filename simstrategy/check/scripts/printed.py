"""Numbers in what a script prints, in lines that match a pattern."""

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from simstrategy.errors import InvalidArgument

__all__ = ["Printed", "numbers_in", "pattern_of"]

_NUMBER: Final = re.compile(r"(?<![\w.])[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|nan|inf)(?![\w])", re.IGNORECASE)


class Printed(NamedTuple):
    """path: as in ``printed['output'][3][0]``.  value: [] int64 or float64. resolution: one unit of its last digit."""

    path: str
    value: np.ndarray[Any, Any]
    resolution: float


def pattern_of(text: str) -> "re.Pattern[str]":
    """Returns a compiled pattern.  Raises InvalidArgument for a text that is none."""
    try:
        return re.compile(text)
    except re.error as error:
        raise InvalidArgument(f"same-output takes a regular expression, got {text!r}: {error}. Correct it.") from error


def numbers_in(output: str, pattern: "re.Pattern[str]") -> Iterator[Printed]:
    r"""Yields the numbers in the lines that match, in order; where the pattern has groups, those in the groups alone.

    >>> [(one.path, float(one.value)) for one in numbers_in("loss 0.25\nother 3", re.compile("loss"))]
    [("printed['output'][0][0]", 0.25)]
    """
    lines = [found for line in output.splitlines() if (found := pattern.search(line)) is not None]
    for number, found in enumerate(lines):
        texts = [text or "" for text in found.groups()] if pattern.groups else [found.string]
        numbers = [one[0] for text in texts for one in _NUMBER.finditer(text)]
        for place, text in enumerate(numbers):
            yield _printed(f"printed['output'][{number}][{place}]", text)


def _printed(path: str, text: str) -> Printed:
    if re.fullmatch(r"[-+]?\d{1,18}", text):
        return Printed(path, np.asarray(int(text), np.int64), 0.0)
    digits, _, power = text.lower().partition("e")
    finite = bool(np.isfinite(float(text)))
    decimals = len(digits.partition(".")[2]) - int(power or "0") if finite else 0
    # A little more than one unit: the difference of two such numbers is rounded as well.
    return Printed(path, np.asarray(float(text)), 1.001 * 10.0**-decimals if finite else 0.0)
