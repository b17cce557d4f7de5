"""Reads from the files of all ranks what names held, and which lines ran."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simstrategy.check.causes.held import Change, Held, Traced
from simstrategy.trace import describe_site
from simstrategy_torch_distributed.watched.entries import Entry, read

__all__ = ["traced_in"]


def traced_in(files: Sequence[Path], *, steps: int | None = None) -> Traced:
    """Returns what the ranks have traced, in rank order.

    steps: how many all ranks make, where some make more, so that a number that comes later is not one step on all of
    them; None where none makes more.
    """
    held, lines, changes = [], [], []
    for file in files:
        entries = [one for one in read(file) if steps is None or one.what != "held" or one.facts["step"] <= steps]
        held.append(tuple(_held(one) for one in entries if one.what == "held"))
        lines.append(tuple(line for one in entries if one.what == "lines" for line in _lines(one)))
        changes.append(tuple(change for one in entries if one.what == "changes" for change in _changes(one)))
    return Traced(tuple(held), tuple(lines), tuple(changes))


def _held(entry: Entry) -> Held:
    facts = entry.facts
    return Held(
        _site(facts["site"]),
        tuple(map(_site, facts["callers"])),
        facts["name"],
        facts["attribute"],
        entry.arrays,
        facts["text"],
        facts["step"],
        facts["frame"],
        facts["graded"],
    )


def _changes(entry: Entry) -> list[Change]:
    return [
        Change(_site((file, line)), step, frozenset(what), what == ["state"])
        for file, line, step, what in entry.facts["changes"]
    ]


def _lines(entry: Entry) -> list[tuple[str, int]]:
    """Returns the lines of a rank, each with the number of the step that came next.  entry: has [lines, 3] int32."""
    files = entry.facts["files"]
    rows: np.ndarray[Any, Any] = entry.arrays[0]
    return [(_site((files[file], line)), int(step)) for file, line, step in rows.tolist()]


def _site(site: Sequence[Any]) -> str:
    return describe_site((site[0], site[1]))
