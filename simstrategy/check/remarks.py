"""Remarks: what limits the meaning of a check, and what it did not try.

They stand beside the verdict. `require` makes one of them a reason for which nothing is judged.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

from simstrategy.check.law_table import facts_of
from simstrategy.check.row import Row, state_of
from simstrategy.errors import InvalidArgument

__all__ = ["REMARKS", "Remark", "remarks_of", "require_remarks", "what_was_compared"]

REMARKS: Final = {
    "replicas": "numbers of replicas against each other",
    "uneven": "parts of unequal sizes",
    "empty": "an empty part",
    "nudged": "inputs moved by one ulp",
    "schedules": "other schedules",
    "backends": "other backends",
}
"""What a check may not have tried, by the word with which it is required."""


class Remark(NamedTuple):
    """What was not tried.  word: a key of REMARKS. text: a sentence, with what to do."""

    word: str
    text: str


def require_remarks(words: Iterable[str]) -> None:
    """Raises InvalidArgument for a word that is none of REMARKS."""
    for word in words:
        if word not in REMARKS:
            raise InvalidArgument(
                f"require names what a check must have tried: {word!r} is none of {', '.join(REMARKS)}. Correct it."
            )


def remarks_of(
    rows: Sequence[Row], tried: Collection[str], words: Collection[str] = tuple(REMARKS)
) -> tuple[Remark, ...]:
    """Returns what was not tried.

    tried: words of REMARKS that were, as far as the rows do not show it. words: those that a program of this kind has.
    """
    seen = {*tried}
    rows = [row for row in rows if state_of(row) != "skipped"]
    if any(row.law == "replicas" for row in rows):
        seen.add("replicas")
    if len({row.schedule for row in rows if facts_of(row.law).schedules}) > 1:
        seen.add("schedules")
    if len({row.backend for row in rows}) > 1:
        seen.add("backends")
    return tuple(Remark(word, text) for word, text in _SENTENCES.items() if word in words and word not in seen)


_SENTENCES: Final = {
    "replicas": "Only one number of replicas was run, so no two were compared with each other: give several.",
    "uneven": "No step of a distributed dataset had parts of unequal sizes: a mean of means would not show. Give a "
    "number of replicas that does not divide the batch.",
    "empty": "No part of a distributed dataset was empty: a replica without examples was not tried.",
    "nudged": "No input was moved by one ulp, because the program put no floats on a device: how far rounding moves "
    "its results is not known.",
    "schedules": "One order of the replicas was run: whether the result depends on it was not tried.",
    "backends": "One backend was run.",
}


def what_was_compared(rows: Sequence[Row]) -> str:
    """Returns what a check compared, for its last line.

    >>> row = Row("sim", "3 against 1", "InOrder()", False, True, 0.0, 0.0, 0, False, None, law="replicas", compared=2)
    >>> what_was_compared([row])
    '2 values; replicas 1, 3'
    """
    own = [row for row in rows if facts_of(row.law).settings]
    values = max((row.compared for row in own or rows), default=0)
    planted = any(row.law == "faults" for row in rows)
    rows = [row for row in rows if row.law != "faults" and state_of(row) != "skipped"] or rows
    words = ["1 value" if values == 1 else f"{values} values"]
    counts: dict[int, None] = {}
    for row in rows:
        if row.law == "replicas":
            other, _, first = row.replicas.partition(" against ")
            counts |= {int(first): None, int(other): None}
    if counts:
        words.append(f"replicas {', '.join(map(str, counts))}")
    else:
        alone = dict.fromkeys(row.replicas for row in rows)
        words.append(f"replicas {', '.join(alone)}{', each alone' if len(alone) > 1 else ''}")
    backends = list(dict.fromkeys(row.backend for row in rows))
    schedules = list(dict.fromkeys(row.schedule for row in rows if facts_of(row.law).settings))
    words += [", ".join(found) for found in (backends, schedules) if len(found) > 1]
    others = dict.fromkeys(row.law for row in rows if not facts_of(row.law).settings and row.compared)
    words += [f"law of {law}" for law in others]
    if planted:
        words.append("with faults")
    return "; ".join(words)
