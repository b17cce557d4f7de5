"""The law of random draws: what replicas draw does not depend on whether they share a process.

In one process, replicas draw from a global generator (`random`, `numpy.random`, `torch`) one after the other; in
processes of their own each has its own. A program whose result differs between the two is found. Whether equal draws
are meant, as for initial weights, or not, as for noise, no run shows: they are remarks.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, final

from simstrategy.check.across import counted
from simstrategy.check.laws.like_first import like_first
from simstrategy.check.outcome import Outcome
from simstrategy.check.row import Row
from simstrategy.check.rows import law_row, not_judged
from simstrategy.check.study import Study
from simstrategy.errors import GeneratorsMixed
from simstrategy.strategy.group import Group

__all__ = ["random"]

_OWN: Final = "global generators of each replica"
_ADVICE: Final = (
    "draw what differs by replica from np.random.default_rng(ctx.seed(label)), and the rest outside of them"
)

States = Sequence[Mapping[str, Any]]


@final
class _Draws:
    """Which replicas drew from which global generator in which run, of replicas that have their own.

    runs: how many there were. alike, apart: for each generator the runs, from 1, in which all replicas drew the same,
    and in which replicas that began alike drew otherwise.
    """

    def __init__(self) -> None:
        self.runs = 0
        self.alike: dict[str, list[int]] = {}
        self.apart: dict[str, list[int]] = {}

    def attach(self, group: Group) -> None:
        """Makes this receive the draws of a group's replicas."""
        group.settings.watches.draws = self.watch

    def watch(self, before: States, after: States) -> None:
        """Receives the states of each replica's generators before and after a run."""
        self.runs += 1
        for module in dict.fromkeys(module for states in after for module in states):
            pairs = [(one.get(module), other.get(module)) for one, other in zip(before, after, strict=True)]
            if all(one == other for one, other in pairs):
                continue
            if all(pair == pairs[0] for pair in pairs):
                self.alike.setdefault(module, []).append(self.runs)
            elif all(one == pairs[0][0] for one, _ in pairs):
                self.apart.setdefault(module, []).append(self.runs)
            else:
                self.apart.setdefault(module, [])

    @property
    def modules(self) -> list[str]:
        """The generators that replicas drew from."""
        return sorted({*self.alike, *self.apart})

    def remarks(self, who: str) -> Iterator[str]:
        """Yields what the draws show, of replicas in processes of their own."""
        for module, runs in self.alike.items():
            yield (
                f"{who} in processes of their own draw the same numbers from {module} in {len(runs)} of {self.runs} "
                f"runs: right for what replicas share, such as initial weights, and wrong for noise of each example; "
                f"{_ADVICE}."
            )
        for module, runs in self.apart.items():
            if runs:
                yield (
                    f"{who} begin run {runs[0]} with {module} in one state and draw otherwise from it: what they draw "
                    f"from it later is not the same on all of them."
                )


def random(study: Study) -> Iterator[Row]:
    """Yields a row for each number of replicas above 1."""
    asked = "random" in study.settings.asked
    counts = [count for count in study.replicas if count > 1]
    for count in counts:
        yield _row(study, study.reference, count, asked=asked)
    if not counts:
        row = law_row("random", study.reference, str(study.replicas[0]))._replace(schedule=_OWN)
        yield not_judged(row, "one replica", "one replica shares its generators with no other", asked=asked)


def _row(study: Study, name: str, count: int, *, asked: bool) -> Row:
    row = law_row("random", name, str(count))._replace(schedule=_OWN)
    draws = _Draws()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GeneratorsMixed)
        own = study.run(name, count, watch=draws.attach, isolate=True)
    if not draws.modules and own.error is not None:
        return not_judged(row, "it raises", f"its run raises {own.error[0]} before a draw", asked=asked)
    if not draws.modules:
        return not_judged(row, "no draws", _nothing_drawn(study.measured(count).first), asked=asked)
    row = like_first(study, count, own, row, ("in one process", "in processes of their own"))
    study.notes += draws.remarks(counted(count))
    if row.problem is not None:
        where = " and ".join(draws.modules)
        text = (
            f"{row.problem}\n  replicas draw from {where}: in one process one after the other, in processes of their "
            f"own each from its own; {_ADVICE}"
        )
        return row._replace(problem=text)
    return row


def _nothing_drawn(outcome: Outcome) -> str:
    labels = ", ".join(map(repr, outcome.seeds))
    seeds = f"; seeds of each replica ({labels}) differ in any case" if labels else ""
    return f"the replica functions draw from no global generator{seeds}. Generators that are objects cannot be followed"
