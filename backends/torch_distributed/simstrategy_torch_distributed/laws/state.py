"""The law of state: parameters that are declared replicated are equal on all ranks after each optimizer step.

Ranks are compared at equal numbers of their group's calls, so that ranks with different numbers of steps, as under
`join`, are not compared at different times. Parameters that become equal again, or that the script itself combines,
were apart on purpose.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, final

from simstrategy.trace import describe_site
from simstrategy_torch_distributed.findings import Finding, diverged

__all__ = ["State"]

_PENDING_MAX: Final = 4096
_ROUNDING: Final = 8.0
"""So many units in the last place of its largest element a parameter may differ by rounding."""
_EPSILON: Final[Mapping[str, float]] = {
    "float64": 2.0**-52,
    "complex128": 2.0**-52,
    "float16": 2.0**-10,
    "bfloat16": 2.0**-7,
}
_EPSILON_SINGLE: Final = 2.0**-23
_NAMED_MAX: Final = 3
_AT_END: Final = (-1, 0)

_Report = Mapping[str, Any]


class _Unequal(NamedTuple):
    """A parameter that is not equal on all ranks.  lines: one for each rank. is_rounding: it differs by no more."""

    name: str
    lines: tuple[str, ...]
    combined: bool
    is_rounding: bool


@final
class _Judged:
    """What is known of one set of parameters."""

    __slots__ = ("apart", "by", "compared", "is_again_equal", "is_trained", "pending", "stepped")

    def __init__(self, by: str) -> None:
        self.by = by
        self.pending: dict[tuple[int, int], dict[int, _Report]] = {}
        self.apart: dict[str, _Unequal] = {}
        """The parameters that have not been equal since, by key: as they were when they were first unequal."""
        self.is_again_equal = False
        self.is_trained = False
        self.compared = 0
        self.stepped = 0


@final
class State:
    """Compares what the ranks report; `close` gives what is wrong."""

    def __init__(self) -> None:
        self._sets: dict[str, _Judged] = {}

    def receive(self, rank: int, report: _Report) -> None:
        """Takes what a rank has of one set after a step, or at the end; `hooks/steps.py` has the fields."""
        judged = self._sets.setdefault(report["key"], _Judged(report["by"]))
        when = (report["when"][0], report["when"][1])
        judged.is_trained |= report["is_trained"]
        judged.stepped = max(judged.stepped, report["step"])
        waiting = judged.pending.setdefault(when, {})
        waiting[rank] = report
        if len(waiting) == len(report["ranks"]):
            # Ranks report in order: what is older and incomplete stays so.
            judged.pending = {one: found for one, found in judged.pending.items() if one > when or one == _AT_END}
            judged.pending.pop(when, None)
            _compare(judged, waiting, at_end=when == _AT_END)
        elif len(judged.pending) > _PENDING_MAX:
            del judged.pending[min(one for one in judged.pending if one != _AT_END)]

    def close(self) -> Iterator[Finding | str]:
        """Yields findings, and remarks as texts."""
        for judged in self._sets.values():
            certain = {key: one for key, one in judged.apart.items() if not one.combined and not one.is_rounding}
            if not certain:
                continue
            names = [one.name for one in certain.values()]
            first = next(iter(certain.values()))
            if judged.is_again_equal:
                yield f"{_listed(names)}, {judged.by}: apart again at the end, after they were apart and equal"
            elif judged.by.startswith("kept") or judged.is_trained:
                yield diverged(first.lines, _listed(names), judged.by)
            else:
                yield f"{_listed(names)}, {judged.by}: not equal on all ranks any more: {'; '.join(first.lines)}"


def _compare(judged: _Judged, reports: Mapping[int, _Report], *, at_end: bool) -> None:
    """Compares the parameters that all ranks have reported.  At the end nothing new is accused that was compared."""
    tables = {rank: {entry[0]: entry for entry in report["entries"]} for rank, report in reports.items()}
    ranks = sorted(tables)
    for key in tables[ranks[0]]:
        entries = [tables[rank].get(key) for rank in ranks]
        if None in entries:
            continue
        found = [entry for entry in entries if entry is not None]
        if all(entry[2] == found[0][2] for entry in found):
            if judged.apart.pop(key, None) is not None:
                judged.is_again_equal = True
        elif key not in judged.apart and (not at_end or _one_alone_steps(judged, reports)):
            judged.apart[key] = _unequal(found, [reports[rank] for rank in ranks], ranks, at_end=at_end)
        elif key in judged.apart:
            later = _unequal(found, [reports[rank] for rank in ranks], ranks, at_end=at_end)
            before = judged.apart[key]
            chosen = later if before.is_rounding and not later.is_rounding else before
            judged.apart[key] = chosen._replace(combined=before.combined or later.combined)
    judged.compared += 1


def _one_alone_steps(judged: _Judged, reports: Mapping[int, _Report]) -> bool:
    """Returns whether some ranks have stepped a set that others never did."""
    steps = [report["step"] for report in reports.values()]
    return not judged.compared and max(steps) > 0 and min(steps) == 0


def _unequal(
    entries: Sequence[Sequence[Any]], reports: Sequence[_Report], ranks: Sequence[int], *, at_end: bool
) -> _Unequal:
    _, name, _, places, first, dtype, _ = entries[0]
    differing = [
        number for number in range(len(places)) if any(not _same(entry[4][number], first[number]) for entry in entries)
    ]
    shown = places[differing[0]] if differing else None
    lines = []
    for rank, entry, report in zip(ranks, entries, reports, strict=True):
        step = "at the end, after no step"
        if report["step"]:
            place = describe_site((report["site"][0], report["site"][1]))
            step = f"{'at the end, ' if at_end else ''}after its step {report['step']} at {place}"
        beginning = f"[{', '.join(f'{value:g}' for value in entry[4][: min(4, len(places))])}]"
        element = f", element {shown} is {entry[4][differing[0]]!r}" if differing else ""
        lines.append(f"rank {rank}: {name} begins with {beginning}{element}, {step}")
    largest = max((abs(value) for entry in entries for value in entry[4]), default=0.0)
    bound = _ROUNDING * _EPSILON.get(dtype, _EPSILON_SINGLE) * largest
    is_rounding = bool(differing) and all(
        abs(entry[4][number] - first[number]) <= bound for entry in entries for number in differing
    )
    return _Unequal(name, tuple(lines), any(entry[6] for entry in entries), is_rounding)


def _same(one: float, other: float) -> bool:
    return one == other or (one != one and other != other)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else ""
    return f"{len(names)} parameter{'s' if len(names) > 1 else ''} ({', '.join(names[:_NAMED_MAX])}{more})"
