"""Finds layers and seeds of a script by which replicas do other things: with layers as in a prediction, two runs agree.

So do two runs with a constant in place of what functions draw, whichever constant it is.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from simstrategy.check.causes.facts import DRAWS, STATISTICS, Cause
from simstrategy.check.causes.layers import of_layers
from simstrategy.check.compare import NUDGES
from simstrategy.check.outcome import Outcome
from simstrategy.check.runs import Measured, agree
from simstrategy.check.scripts.facts import ScriptRun

__all__ = ["with_layers", "with_seeds"]

_KINDS: Final = {"statistics": STATISTICS, "draws": DRAWS}
_ELSEWHERE: Final = "elsewhere"
_AGREE: Final = "With training=False there, the runs agree"
_AGREE_CONSTANT: Final = "With training=False, or constant numbers, there, the runs agree"

Runs = Callable[[int, tuple[str, ...], int | None], ScriptRun]
"""Runs the script with a number of replicas, kinds of layers that predict, and a nudge or None."""


def with_seeds(cause: Cause, run: ScriptRun) -> Cause:
    """Returns a cause with the lines that give replicas other seeds, where draws are its kind.  run: the second one."""
    lines = [one for one in run.draws if " at " in one]
    if cause.kind != DRAWS or not lines:
        return cause
    return cause._replace(text=f"{cause.text} Seeded with other numbers on each replica: {', '.join(lines)}.")


def with_layers(
    cause: Cause,
    counts: tuple[int, int],
    run: Runs,
    outcome_of: Callable[[ScriptRun], Outcome],
    exempt: Mapping[str, str],
) -> Cause:
    """Returns a cause with the kind of layers that explain a difference; as it is, where none do.

    A constant in place of what is drawn may hide what is done with it, as zero hides a factor. So the runs also have to
    agree with another one: where they do not, what is drawn is no kind.  Clauses: J-78, G-100.
    """
    runs = _Predicting(counts, run, outcome_of, exempt)
    there: list[str] = []
    for kinds in (*[(kind,) for kind in _KINDS], tuple(_KINDS)):
        if len(kinds) > 1 and len(there) < len(kinds):
            break
        first = run(counts[0], kinds, None)
        there += kinds if first.predicted and len(kinds) == 1 else ()
        if not first.predicted or first.error is not None:
            continue
        second = run(counts[1], kinds, None)
        if _names(first) != _names(second):  # one run drops what the other one does not
            return cause._replace(text=f"{cause.text}{_apart(first, second)}")
        if not runs.agree(first, second, kinds):
            continue
        constant = [one.name for one in first.predicted if one.is_constant]
        if constant and not runs.agree_elsewhere(kinds):
            return cause._replace(text=f"{cause.text}{_otherwise(constant)}")
        texts = [*dict.fromkeys(one.text for one in first.predicted)]
        texts.append(_AGREE_CONSTANT if "draws" in kinds else _AGREE)
        return of_layers(cause, [_KINDS[kind] for kind in kinds], texts)
    return cause


class _Predicting(NamedTuple):
    """What `with_layers` is given."""

    counts: tuple[int, int]
    run: Runs
    outcome_of: Callable[[ScriptRun], Outcome]
    exempt: Mapping[str, str]

    def agree(self, first: ScriptRun, second: ScriptRun, kinds: tuple[str, ...]) -> bool:
        """Returns whether runs in which kinds of layers predict agree."""
        nudged = [self.outcome_of(self.run(self.counts[0], kinds, pattern)) for pattern in NUDGES]
        one = Measured.of_one(self.outcome_of(first), nudged)
        return agree(one, Measured.of_one(self.outcome_of(second)), self.counts, self.exempt)

    def agree_elsewhere(self, kinds: tuple[str, ...]) -> bool:
        """Returns whether they agree with another constant, too."""
        kinds = (*kinds, _ELSEWHERE)
        first, second = [self.run(count, kinds, None) for count in self.counts]
        return self.agree(first, second, kinds)


def _names(run: ScriptRun) -> set[tuple[str, str, float | None]]:
    return {(one.name, one.does, one.share) for one in run.predicted}


def _otherwise(names: Sequence[str]) -> str:
    """Returns that runs differ by what they do with draws, as sentences.  names: of what draws."""
    listed = ", ".join(dict.fromkeys(names))
    return (
        f" With the mean in place of what {listed} draws the runs agree, and with another constant they do not: what "
        f"is drawn counts otherwise in them, as with a factor that depends on the number of replicas."
    )


def _apart(reference: ScriptRun, other: ScriptRun) -> str:
    """Returns what draws with another share than in the reference, or in one run alone, as sentences."""
    expected, found = [{(one.name, one.does): one.share for one in run.predicted} for run in (reference, other)]
    sentences = []
    for key in dict.fromkeys([*expected, *found]):
        name, does = key
        if key not in expected or key not in found:
            only = "the reference" if key in expected else "the other run"
            sentences.append(f" {name} {does} in {only} alone.")
        elif (here := found[key]) is not None and (there := expected[key]) is not None and here != there:
            sentences.append(f" {name} is given {here:g}, and {there:g} in the reference.")
    return "".join(sentences)
