"""Finds layers of a script that see a replica's part alone: with them as in a prediction, two runs agree.

So do two runs with a constant in place of what functions draw.
"""

from collections.abc import Callable, Mapping
from typing import Final

from simstrategy.check.causes.facts import DRAWS, STATISTICS, Cause
from simstrategy.check.causes.layers import of_layers
from simstrategy.check.compare import NUDGES
from simstrategy.check.outcome import Outcome
from simstrategy.check.runs import Measured, agree
from simstrategy.check.scripts.facts import ScriptRun

__all__ = ["with_layers"]

_KINDS: Final = {"statistics": STATISTICS, "draws": DRAWS}
_AGREE: Final = "With training=False there, the runs agree"
_AGREE_CONSTANT: Final = "With training=False, or constant numbers, there, the runs agree"

Runs = Callable[[int, tuple[str, ...], int | None], ScriptRun]
"""Runs the script with a number of replicas, kinds of layers that predict, and a nudge or None."""


def with_layers(
    cause: Cause,
    counts: tuple[int, int],
    run: Runs,
    outcome_of: Callable[[ScriptRun], Outcome],
    exempt: Mapping[str, str],
) -> Cause:
    """Returns a cause with the kind of layers that explain a difference; as it is, where none do.  Clause: J-78."""
    there: list[str] = []
    for kinds in (*[(kind,) for kind in _KINDS], tuple(_KINDS)):
        if len(kinds) > 1 and len(there) < len(kinds):
            break
        first = run(counts[0], kinds, None)
        there += kinds if first.predicted and len(kinds) == 1 else ()
        if not first.predicted or first.error is not None:
            continue
        second = run(counts[1], kinds, None)
        if {*first.predicted} != {*second.predicted}:  # one run drops what the other one does not
            return cause._replace(text=f"{cause.text}{_apart(first, second)}")
        texts = [*dict.fromkeys(text for text, _ in first.predicted)]
        nudged = [outcome_of(run(counts[0], kinds, pattern)) for pattern in NUDGES]
        if agree(Measured.of_one(outcome_of(first), nudged), Measured.of_one(outcome_of(second)), counts, exempt):
            texts.append(_AGREE_CONSTANT if "draws" in kinds else _AGREE)
            return of_layers(cause, [_KINDS[kind] for kind in kinds], texts)
    return cause


def _apart(reference: ScriptRun, other: ScriptRun) -> str:
    """Returns what draws with another share than in the reference, or in one run alone, as sentences."""
    expected, found = dict(reference.predicted), dict(other.predicted)
    sentences = []
    for text in dict.fromkeys([*expected, *found]):
        name = text.partition(" draws ")[0].partition(" normalises ")[0]
        if text not in expected or text not in found:
            does = "normalises" if " normalises " in text else "draws"
            only = "the reference" if text in expected else "the other run"
            sentences.append(f" {name} {does} in {only} alone.")
        elif (here := found[text]) is not None and (there := expected[text]) is not None and here != there:
            sentences.append(f" {name} is given {here:g}, and {there:g} in the reference.")
    return "".join(sentences)
