"""The law of the cut: an argument that cuts the same work differently, such as `accumulate`, gives the same result."""

from collections.abc import Iterator

from simstrategy.check.laws.explained import explained
from simstrategy.check.laws.like_first import like_first
from simstrategy.check.row import Row
from simstrategy.check.rows import law_row
from simstrategy.check.runs import VariedRuns
from simstrategy.check.shown import of_replicas

__all__ = ["cut"]


def cut(study: VariedRuns) -> Iterator[Row]:
    """Yields a row for each value of each argument of `vary` but the first, at each number of replicas."""
    for count in study.replicas:
        for name, values in study.settings.vary.items():
            for value in values[1:]:
                yield _row(study, count, name, value)


def _row(study: VariedRuns, count: int, name: str, value: object) -> Row:
    names = (f"{name}={study.settings.vary[name][0]!r}", f"{name}={value!r}")
    other = study.run_with(count, {name: value})
    row = law_row("cut", study.reference, str(count), f"{names[1]} against {names[0]}")
    first = of_replicas(count)
    ways = (first, first._replace(name=names[1], arguments=((name, value),)))
    compared = like_first(study, count, other, row, names, arguments={name: value})
    return explained(compared, lambda: study.explain((count, count), {name: value}), ways)
