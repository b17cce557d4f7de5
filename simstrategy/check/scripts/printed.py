"""Numbers in what a script prints: those that are compared, and those that are not and differ."""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from simstrategy.errors import InvalidArgument

__all__ = ["Output", "Printed", "numbers_in", "pattern_of", "unlike_numbers"]

_NUMBER: Final = re.compile(r"(?<![\w.])[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|nan|inf)(?![\w])", re.IGNORECASE)


_CLOCK: Final = re.compile(r"\b\d{1,4}[-/]\d{1,2}[-/]\d{1,4}\b|\b\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d+)?\b")
"""A date, or a time: two equal runs may print the same ones, since some of their parts stay for hours."""

_SHARE: Final = 1e-3
"""By how much of itself a number that nothing compares has to differ, to be worth a remark."""
_LONGEST: Final = 100
"""How many characters of a line a remark has."""


class Output(NamedTuple):
    """What replica 0 prints with one number of replicas: in two equal runs, and in those in which rounding is tried."""

    replicas: int
    first: str
    again: str
    nudged: tuple[str, ...] = ()


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


def unlike_numbers(one: Output, other: Output, pattern: "re.Pattern[str] | None") -> str | None:
    """Returns a remark on lines with other numbers in two runs, which nothing compares; None where there are none.

    Lines are the same but for their numbers, and are as many in both. Left out are numbers that two equal runs print
    differently, such as times, those that rounding may explain, whole numbers that are as many times larger or smaller
    as there are replicas, and lines that match the pattern.  Clause: G-89.

    >>> remark = unlike_numbers(Output(1, "loss 0.25", "loss 0.25"), Output(2, "loss 0.5", "loss 0.5"), None)
    >>> print(remark.partition(" A number")[0])
    Not compared: replica 0 prints 'loss 0.25' with 1 replica and 'loss 0.5' with 2.
    """
    found = [*_unlike(one, other, pattern)]
    if not found:
        return None
    first, second, name = found[0]
    more = f", and {len(found) - 1} such line{'s' * (len(found) > 2)} more" if len(found) > 1 else ""
    counted = f"{one.replicas} replica{'s' * (one.replicas > 1)}"
    return (
        f"Not compared: replica 0 prints {_short(first)!r} with {counted} and {_short(second)!r} with "
        f"{other.replicas}{more}. A number of its own part of the batch may differ; where it should not, give "
        f"--same-output {name!r}."
    )


def _short(line: str) -> str:
    line = line.strip()
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _unlike(one: Output, other: Output, pattern: "re.Pattern[str] | None") -> Iterator[tuple[str, str, str]]:
    """Yields lines of two runs with unlike numbers, and the words before the first of these numbers."""
    outputs = [_by_form(text) for text in (one.first, one.again, other.first, other.again)]
    nudged = [_by_form(text) for text in one.nudged]
    for form, lines in outputs[0].items():
        same = [by_form.get(form, ()) for by_form in outputs]
        if any(len(found) != len(lines) for found in same):
            continue
        moved = [by_form[form] for by_form in nudged if len(by_form.get(form, ())) == len(lines)]
        for number, (first, again, second, also) in enumerate(zip(*same, strict=True)):
            if pattern is not None and pattern.search(first):
                continue
            counts = (one.replicas, other.replicas)
            place = _first_unlike((first, again, second, also), [found[number] for found in moved], counts)
            if place is not None:
                yield first, second, _words_before(first, place)


def _by_form(output: str) -> dict[str, list[str]]:
    """Returns the lines with numbers by what they are without these.  Dates and times are left out of them."""
    found: dict[str, list[str]] = {}
    for line in map(partial(_CLOCK.sub, ""), output.splitlines()):
        form, count = _NUMBER.subn("#", line)
        if count:
            found.setdefault(form, []).append(line)
    return found


def _first_unlike(lines: Sequence[str], moved: Sequence[str], counts: tuple[int, int]) -> int | None:
    """Returns the place of the first number that is another one in the runs.  lines: two equal runs of each."""
    numbers = [_NUMBER.findall(line) for line in lines]
    around = [_NUMBER.findall(line) for line in moved]
    for place, (first, again, second, also) in enumerate(zip(*numbers, strict=True)):
        if first == again and second == also and _are_unlike(first, second, [one[place] for one in around], counts):
            return place
    return None


def _are_unlike(first: str, second: str, moved: Sequence[str], counts: tuple[int, int]) -> bool:
    if first.lower() == second.lower():
        return False
    one, other = _printed("", first), _printed("", second)
    a, b = float(one.value), float(other.value)
    if not np.isfinite([a, b]).all():
        return True
    if one.resolution == other.resolution == 0.0 and (a * counts[0] == b * counts[1] or a * counts[1] == b * counts[0]):
        return False
    rounding = max((abs(float(text) - a) for text in moved), default=0.0)
    return abs(a - b) > max(2 * one.resolution, 2 * other.resolution, _SHARE * abs(a), 16 * rounding)


def _words_before(line: str, place: int) -> str:
    """Returns a pattern for a line: the words before one of its numbers, or before all where there are none."""
    spans = [found.span() for found in _NUMBER.finditer(line)]
    begin = spans[place - 1][1] if place else 0
    for text in (line[begin : spans[place][0]], line[: spans[place][0]], line[spans[place][1] :]):
        words = re.findall(r"[^\W\d][^\W\d]*(?:[ _-][^\W\d]+)*", text)
        if words:
            return str(words[-1])
    return "."
