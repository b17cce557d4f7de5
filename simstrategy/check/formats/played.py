"""The runs in which the findings of a report show, made again and recorded for its page.

What a page needs of a run is its values, which a check does not keep: so the program runs once more for each of them.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from simstrategy.check.report import Report
from simstrategy.check.shown import Shown, Way
from simstrategy.player import PlayedRun, opening_stop, own_run
from simstrategy.player.sources import sources_in
from simstrategy.run import raised_where
from simstrategy.trace import Recording

__all__ = ["NOTHING", "Place", "Played", "played"]

_RUNS_MAX: Final = 16
"""Of one page; the findings are in order, so the first of them are shown."""


class Place(NamedTuple):
    """Where a finding shows: the number of the run in the page, and of the stop. left: why it does not show, or ""."""

    run: int
    stop: int
    left: str = ""


class Played(NamedTuple):
    """runs: of the page. places: for each finding of the report, None where it has no run to show."""

    runs: tuple[PlayedRun, ...]
    places: tuple[Place | None, ...]


NOTHING: Final = Played((), ())


def played(report: Report) -> Played:
    """Makes the runs again in which the findings show, each once, and finds the event of each cause."""
    made: dict[tuple[int, str], PlayedRun] = {}
    places = [None if shown is None else _place(report, shown, made) for shown in report.shown]
    notes: dict[int, dict[int, str]] = {}
    causes: dict[int, dict[int, str]] = {}
    for place, finding in zip(places, report.findings, strict=True):
        if place is not None and not place.left and finding.cause is not None:
            notes.setdefault(place.run, {})[place.stop] = finding.cause
            line = finding.source or finding.site
            causes.setdefault(place.run, {}).update({} if line is None else {place.stop: line})
    runs = [
        run._replace(notes=notes.get(number, {}), causes=causes.get(number, {}))
        for number, run in enumerate(made.values())
    ]
    return _reference_first(report, [*made], runs, places)


def _reference_first(
    report: Report, keys: Sequence[tuple[int, str]], runs: Sequence[PlayedRun], places: Sequence[Place | None]
) -> Played:
    """Returns the runs with that first which others are compared with: all are shown beside the first one."""
    ways = next((shown.ways for shown in report.shown if shown is not None and len(shown.ways) > 1), None)
    first = None if ways is None else (ways[0].replicas, ways[0].name)
    order = sorted(range(len(runs)), key=lambda number: keys[number] != first)
    moved = [one if one is None or one.left else one._replace(run=order.index(one.run)) for one in places]
    return Played(tuple(runs[number] for number in order), tuple(moved))


def _place(report: Report, shown: Shown, made: dict[tuple[int, str], PlayedRun]) -> Place:
    """Returns where a finding shows; adds its runs to those that are made, by replicas and name."""
    assert report.record is not None
    missing = [way for way in shown.ways if (way.replicas, way.name) not in made]
    if len(made) + len(missing) > _RUNS_MAX:
        return Place(0, 0, f"The page has {_RUNS_MAX} runs, of the findings before this one.")
    try:
        for way in missing:
            recording = report.record(way)
            made[way.replicas, way.name] = _run(report, way, recording)
    except Exception as error:  # noqa: BLE001 - of any library that the program uses
        return Place(0, 0, f"The run could not be made again: {raised_where(error)}.")
    *before, last = [(way.replicas, way.name) for way in shown.ways]
    reference = made[before[0]].recording if before else None
    return Place([*made].index(last), opening_stop(made[last].recording, shown.place, reference, shown.at))


def _run(report: Report, way: Way, recording: Recording) -> PlayedRun:
    """Returns a run that was made again just now, with the texts of the program's files."""
    if report.folder is None:
        return PlayedRun(way.title, recording, sources_in(recording))
    return own_run(recording, Path(report.folder), name=way.title)
