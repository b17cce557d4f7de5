"""The law of coverage: replicas share out the rows of a dataset, whatever their number, and none is lost or repeated.

The first number of replicas shows which rows a pass over a dataset has; the others, and workers where their numbers are
given, must draw the same rows. Only what is certain is a finding: what padding, a dropped remainder or draws at random
may explain is a remark, or is not judged.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from simstrategy.check.across import counted
from simstrategy.check.clusters import run_cluster
from simstrategy.check.drawn import Drawn, Pass, together
from simstrategy.check.outcome import Outcome
from simstrategy.check.row import Row, shown_in
from simstrategy.check.rows import law_row, not_judged
from simstrategy.check.shown import Way, of_replicas
from simstrategy.check.study import Study

__all__ = ["coverage"]

_ROWS_MIN: Final = 8
"""With fewer different rows, draws at random may look like a share of a pass."""

_NAMED_MAX: Final = 5
"""The most rows that a sentence names."""

_SHARE: Final = (
    "Give each its share: distribute one dataset of global batches, or shard(…) by the InputContext of the function"
)
_OR: Final = "If each needs all rows on purpose, leave out the law of coverage"
_NO_DATA: Final = (
    "the program distributes no dataset, so it is not known which rows its replicas use. Give them their rows with "
    "strategy.experimental_distribute_dataset"
)


class _Run(NamedTuple):
    """A run whose draws were followed.  who: its replicas, in words. ways: how it is made again; () for workers."""

    label: str
    who: str
    outcomes: Sequence[Outcome]
    datasets: Sequence[Mapping[int, Pass]]
    unknown: bool
    ways: tuple[Way, ...] = ()


class _Judged(NamedTuple):
    """What came of one pass: a problem, a remark, or why it is not judged; at most one of them."""

    problem: str | None = None
    remark: str | None = None
    left: str | None = None


def coverage(study: Study) -> Iterator[Row]:
    """Yields a row for each number of replicas or workers but the first, and for the first where it is alone."""
    runs = _runs(study)
    first = next(runs)
    others = [*runs]
    asked = "coverage" in study.settings.asked
    study.notes += [text for number, passes in enumerate(first.datasets) for text in _same_order(number, passes)]
    for run in others or [first]:
        row = law_row("coverage", study.reference, run.label)._replace(schedule=f"against {first.label}")
        error = next((one.error for side in (first, run) for one in side.outcomes if one.error is not None), None)
        if error is not None:
            row = not_judged(row, "it raises", f"its run raises {error[0]}", asked=asked)
        elif not first.datasets and not run.datasets:
            row = not_judged(row, "no distributed data", _NO_DATA, asked=asked)
        elif run is first:
            row = not_judged(row, "one number of replicas", "there is no other number to compare with", asked=asked)
        elif first.unknown or run.unknown:
            row = not_judged(
                row, "elements without rows", "its elements are no arrays of equally many rows", asked=asked
            )
        else:
            row = _row(row, first, run, study.notes, asked=asked)
        yield shown_in(row, (*first.ways, *run.ways)) if first.ways and run.ways else row


def _runs(study: Study) -> Iterator[_Run]:
    for count in study.replicas:
        drawn = Drawn()
        outcome = study.run(study.reference, count, watch=drawn.attach)
        ways = (of_replicas(count),)
        yield _Run(str(count), counted(count), (outcome,), drawn.passes(), drawn.unknown, ways)
    for count in study.workers:
        if count > 1:
            each = [Drawn() for _ in range(count)]
            outcomes = run_cluster(study, count, watches=[one.attach for one in each])
            unknown = any(one.unknown for one in each)
            yield _Run(f"{count} × 1", f"{count} workers", outcomes, together(each), unknown)


def _row(row: Row, first: _Run, run: _Run, notes: list[str], *, asked: bool) -> Row:
    """Returns the row of a run.  notes: receives remarks."""
    problems: list[str] = []
    left: list[str] = []
    rows = 0
    if len(first.datasets) != len(run.datasets):
        left.append(
            f"with {run.who} {len(run.datasets)} datasets are distributed, and with {first.who} {len(first.datasets)}"
        )
    for number, (one, other) in enumerate(zip(first.datasets, run.datasets, strict=False)):
        for epoch in sorted(one.keys() & other.keys()):
            where = f"distributed dataset {number + 1}, pass {epoch + 1}"
            found = _judged(one[epoch], other[epoch], first.who, run.who)
            problems += [f"{where}: {found.problem}"] if found.problem else []
            notes += [f"{where}: {found.remark}"] if found.remark else []
            left += [f"{where} of {run.who}: {found.left}"] if found.left else []
            rows += 0 if found.left else len([*other[epoch].rows()])
    row = row._replace(compared=rows, equal_bits=not problems)
    if problems:
        return row._replace(problem="\n  ".join(problems[:_NAMED_MAX]))
    if not rows:
        return not_judged(row, "no pass to judge", "; ".join(left) or "no pass was drawn by both", asked=asked)
    return row._replace(not_compared=tuple(left))


def _judged(one: Pass, other: Pass, first: str, who: str) -> _Judged:
    """Judges a pass by the same one with the first number of replicas."""
    expected, found = Counter(one.rows()), Counter(other.rows())
    if expected == found:
        return _Judged()
    if _alike(one, other):
        count = len({*other.rows()})
        return _Judged(f"with {who} all replicas draw the same {count} rows in the same order. {_SHARE}. {_OR}")
    if not (one.ended and other.ended):
        return _Judged(left="the program ends before the data, so it is not known which rows it leaves out")
    return _of_whole_passes(one, other, first, who)


def _of_whole_passes(one: Pass, other: Pass, first: str, who: str) -> _Judged:
    expected, found = Counter(one.rows()), Counter(other.rows())
    if found.keys() - expected.keys():
        count = len(found.keys() - expected.keys())
        return _Judged(left=f"{count} rows are none of those that are drawn with {first}: drawn or changed at random?")
    width = len(other.steps[0]) if other.steps else 0
    replicas = [Counter(other.of_replica(index)) for index in range(width)]
    if width > 1 and len(expected) >= _ROWS_MIN and all(part == expected for part in replicas):
        return _Judged(
            f"with {who} each replica draws all {len(expected)} rows, so each counts {width} times. {_SHARE}. {_OR}"
        )
    if max(expected.values(), default=0) > 1 or len(expected) < _ROWS_MIN:
        why = "rows repeat in it" if len(expected) >= _ROWS_MIN else f"it has fewer than {_ROWS_MIN} different rows"
        return _Judged(left=f"with {who} other rows are drawn than with {first}, and that may be chance: {why}")
    if len(one.steps) == len(other.steps) and not found - expected:
        return _Judged(
            left=f"with {who} fewer rows are drawn than with {first}, in as many steps: a fixed number of them?"
        )
    return _shared_out(list(one.rows()), expected, found, (first, who), max(one.largest(), other.largest()))


def _shared_out(
    order: Sequence[bytes], expected: Counter[bytes], found: Counter[bytes], who: tuple[str, str], step: int
) -> _Judged:
    """Judges a pass whose rows are all different with the first number of replicas.  step: rows of the largest one."""
    numbers = {row: number for number, row in enumerate(order)}
    repeated, lost = found - expected, expected - found
    texts = []
    if repeated:
        texts.append(f"{_named(sorted(numbers[row] for row in repeated))} drawn more than once")
    if lost:
        texts.append(f"{_named(sorted(numbers[row] for row in lost))} not drawn")
    text = f"with {who[1]} {' and '.join(texts)} (numbered as they are drawn with {who[0]}, from 0)"
    if repeated and lost:
        return _Judged(f"{text}. {_SHARE}")
    if (repeated or lost).total() >= step:
        return _Judged(f"{text}: as many as a step has, or more. {_SHARE}")
    return _Judged(
        remark=f"{text}: {'padding of the last step' if repeated else 'an incomplete step that is dropped'}?"
    )


def _named(numbers: Sequence[int]) -> str:
    more = f" and {len(numbers) - _NAMED_MAX} more" if len(numbers) > _NAMED_MAX else ""
    rows, verb = ("row", "is") if len(numbers) == 1 else ("rows", "are")
    return f"{rows} {', '.join(map(str, numbers[:_NAMED_MAX]))}{more} {verb}"


def _alike(one: Pass, other: Pass) -> bool:
    """Returns whether all replicas draw equal parts in every step, though a step's rows are different with the first.

    Constant data are alike anyway, so there must be some different rows.
    """
    width = len(other.steps[0]) if other.steps else 0
    return (
        width > 1
        and all(len({*step}) == 1 for step in other.steps)
        and len({*other.rows()}) >= _ROWS_MIN
        and all(len({*rows}) == len(rows) for step in one.steps if (rows := [row for part in step for row in part]))
    )


def _same_order(number: int, passes: Mapping[int, Pass]) -> Iterator[str]:
    ended = [list(one.rows()) for one in passes.values() if one.ended]
    if len(ended) > 1 and len({*ended[0]}) >= _ROWS_MIN and all(rows == ended[0] for rows in ended):
        yield (
            f"distributed dataset {number + 1} has the same order in each of its {len(ended)} passes: shuffle it, if "
            f"it is for training."
        )
