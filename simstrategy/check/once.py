"""What several rows of a report state alike, stated once: equal texts, errors, and lines at the ends of texts."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from simstrategy.check.exempt import pattern_of
from simstrategy.check.row import Finding, Row

__all__ = ["each_name_once", "problems_once", "undecided_once"]

_ENDS_MIN: Final = 3
"""Fewer equal lines at the ends of two texts are shown twice."""
_AFTER: Final = re.compile(r"after step (\d+)(.*)", re.DOTALL)
_NAMED: Final = re.compile(r"\['([^']*)'\](: .*)", re.DOTALL)
_NAMES_MAX: Final = 4
"""More names with one text are shown together."""
_AS_ABOVE: Final = "  and {} lines as above."
_LONG: Final = 80
"""Of characters: a shorter beginning of two texts is shown twice."""


def undecided_once(rows: Sequence[Row]) -> Iterator[str]:
    """Yields what could not be judged, with backend, replicas and schedule; rows with one text together.

    A long sentence before the first colon, which an earlier text begins with too, is not shown again.
    """
    found: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        if row.undecided is not None:
            found.setdefault((row.backend, row.schedule, row.undecided), []).append(row.replicas)
    begun = set[str]()
    for (backend, schedule, text), replicas in found.items():
        begins, _, rest = text.partition(": ")
        shown = f"as above: {rest}" if begins in begun else text
        if len(begins) > _LONG and rest:
            begun.add(begins)
        yield f"{backend}, replicas {_together(replicas)}, {schedule}: {shown}"


def problems_once(findings: Sequence[Finding]) -> Iterator[str]:
    """Yields each finding as a text.  An error that an earlier one has too has the lines alone that are besides."""
    seen: dict[str, Finding] = {}
    texts = []
    for one in findings:
        earlier = seen.setdefault(_first_line(one), one)
        texts.append(str(one) if earlier is one else _besides(one, earlier))
    yield from _without_equal_ends(texts)


def _first_line(one: Finding) -> str:
    return one.text.split("\n", 1)[0]


def _besides(one: Finding, earlier: Finding) -> str:
    """Returns the text of a finding whose first line is an earlier one's: in short where it has all its lines."""
    known = {*earlier.text.splitlines()}
    if not one.text.startswith("raises ") or not known <= {*one.text.splitlines()} or earlier.cause or one.cause:
        return str(one)
    same = f"raises the same as with replicas {earlier.replicas}, {earlier.schedule}, on {earlier.backend}"
    besides = [line for line in one.text.splitlines() if line not in known]
    return str(one._replace(text="\n".join([f"{same}, and besides:" if besides else same, *besides])))


def _together(replicas: Sequence[str]) -> str:
    """Returns the numbers of replicas of rows, as in ``2, 3 against 1``."""
    pairs = [text.partition(" against ") for text in replicas]
    same = {(word, other) for _, word, other in pairs}
    if len(same) > 1:
        return ", ".join(replicas)
    ((word, other),) = same
    return f"{', '.join(dict.fromkeys(one for one, _, _ in pairs))}{word}{other}"


def _without_equal_ends(texts: Sequence[str]) -> Iterator[str]:
    """Yields texts of several lines, each without the lines at its end with which an earlier one ends too."""
    earlier: list[list[str]] = []
    for text in texts:
        lines = text.splitlines()
        shared = max((_shared_end(one, lines) for one in earlier), default=0)
        earlier.append(lines)
        yield text if shared < _ENDS_MIN else "\n".join([*lines[:-shared], _AS_ABOVE.format(shared)])


def _shared_end(one: Sequence[str], other: Sequence[str]) -> int:
    """Returns with how many equal lines two texts end, their first lines apart."""
    pairs = zip(one[:0:-1], other[:0:-1], strict=False)
    return next((number for number, (left, right) in enumerate(pairs) if left != right), min(len(one), len(other)) - 1)


def each_name_once(texts: Sequence[str]) -> Iterator[str]:
    """Yields texts on values after steps once for each name, with the steps, and other texts as they are.

    Many names with the same text and the same steps are in one, as a pattern where they end alike.

    >>> list(each_name_once(["after step 1['w']: noise", "after step 2['w']: noise", "result['x']: drawn"]))
    ["after steps 1 to 2['w']: noise", "result['x']: drawn"]
    >>> list(each_name_once([f"after step {step}['{one}.k.bias']: noise" for one in "abcde" for step in (1, 3)]))
    ["after steps 1, 3['*.k.bias'], 5 names: noise"]
    """
    steps: dict[str, list[int]] = {}
    for text in texts:
        found = _AFTER.fullmatch(text)
        numbers = steps.setdefault(text if found is None else found[2], [])
        if found is not None and int(found[1]) not in numbers:
            numbers.append(int(found[1]))
    alike: dict[tuple[str, str], list[str]] = {}
    for text, numbers in steps.items():
        named = _NAMED.fullmatch(text) if numbers else None
        name, rest = (text, "") if named is None else (named[1], named[2])
        alike.setdefault((_after(sorted(numbers)), rest), []).append(name)
    for (after, rest), names in alike.items():
        if not (after and rest and len(names) > _NAMES_MAX):
            yield from (f"{after}['{name}']{rest}" if rest else f"{after}{name}" for name in names)
        elif (pattern := pattern_of(names)) is not None:
            yield f"{after}['{pattern}'], {len(names)} names{rest}"
        else:
            yield f"{after}[{', '.join(map(repr, names))}]{rest}"


def _after(steps: Sequence[int]) -> str:
    """Returns after which steps, as in ``after steps 1 to 3``; "" for none."""
    if len(steps) < 2:
        return "".join(f"after step {step}" for step in steps)
    if len(steps) == 1 + steps[-1] - steps[0]:
        return f"after steps {steps[0]} to {steps[-1]}"
    return f"after steps {', '.join(map(str, steps))}"
