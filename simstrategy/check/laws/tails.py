"""The last items of lists and arrays: what a run that starts in the middle returns of a history."""

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from simstrategy.check.contents import described_length, is_distributed
from simstrategy.check.outcome import Outcome

__all__ = ["Tail", "tail_of"]

Host = np.ndarray[Any, Any]

_KEYS: Final = re.compile(r"(\w+) with keys \[(.*)\]", re.DOTALL)


class Tail(NamedTuple):
    """An outcome with the last items of its longer lists and arrays alone, counted from 0.

    left: a sentence for each list and array of which the first items are left out.
    """

    outcome: Outcome
    left: tuple[str, ...]


def tail_of(outcome: Outcome, shorter: Outcome) -> Tail:
    """Cuts the first items off each list and array that is shorter in another outcome, outer lists first.

    Lists must be of one type, and arrays of one dtype with rows of one shape. Items of a mapping are left out as well
    where their keys are numbers, as those of steps.
    """
    left: list[str] = []
    while (found := _longer_list(outcome, shorter)) is not None:
        left.append(_sentence(*found))
        outcome = _cut(outcome, *found)
    for path, keys in _missing_numbers(outcome, shorter):
        left.extend(f"{path}[{key}]: the run that restored does not have it" for key in keys)
        outcome = _without(outcome, path, keys, dict(shorter.structure)[path])
    others = dict(shorter.leaves)
    leaves = []
    for path, whole in outcome.leaves:
        leaf, other = whole, others.get(path)
        if other is not None and path.startswith("result") and _longer(leaf, other):
            left.append(_sentence(path, len(leaf), len(other)))
            leaf = leaf[len(leaf) - len(other) :]
        leaves.append((path, leaf))
    return Tail(outcome._replace(leaves=tuple(leaves)), tuple(left))


def _sentence(path: str, longer: int, shorter: int) -> str:
    return (
        f"{path}: of the first {longer - shorter} of {longer} items, which the run that restored does not have; the "
        f"others are counted from 0"
    )


def _longer(leaf: Host, other: Host) -> bool:
    alike = leaf.ndim == other.ndim and leaf.dtype == other.dtype and leaf.shape[1:] == other.shape[1:]
    return bool(leaf.ndim) and alike and len(leaf) > len(other)


def _longer_list(outcome: Outcome, shorter: Outcome) -> tuple[str, int, int] | None:
    """Returns the path of the first list that is longer than in the other outcome, and both lengths."""
    others = dict(shorter.structure)
    for path, text in outcome.structure:
        one, two = described_length(text), described_length(others.get(path, ""))
        if one is None or two is None or one[0] != two[0] or is_distributed(text):
            continue
        if one[1] > two[1]:
            return path, one[1], two[1]
    return None


def _missing_numbers(outcome: Outcome, shorter: Outcome) -> list[tuple[str, list[str]]]:
    """Returns the paths of mappings that lack keys in the other outcome, all of which are numbers, with these keys."""
    others = dict(shorter.structure)
    found = []
    for path, text in outcome.structure:
        one, two = _KEYS.fullmatch(text), _KEYS.fullmatch(others.get(path, ""))
        if one is None or two is None or one[1] != two[1]:
            continue
        missing = [key for key in one[2].split(", ") if key not in two[2].split(", ")]
        if missing and all(re.fullmatch(r"-?\d+", key) for key in missing):
            found.append((path, missing))
    return found


def _without(outcome: Outcome, container: str, keys: Sequence[str], text: str) -> Outcome:
    """Returns an outcome without the items of a mapping that have these keys.  text: describes the mapping then."""
    gone = tuple(f"{container}[{key}]" for key in keys)
    kept = [number for number, (path, _) in enumerate(outcome.leaves) if not path.startswith(gone)]
    structure = [(path, text if path == container else old) for path, old in outcome.structure]
    return outcome._replace(
        leaves=tuple(outcome.leaves[number] for number in kept),
        computed=tuple(outcome.computed[number] for number in kept) if outcome.computed else (),
        structure=tuple((path, old) for path, old in structure if not path.startswith(gone)),
    )


def _cut(outcome: Outcome, container: str, longer: int, shorter: int) -> Outcome:
    def moved(path: str) -> str | None:
        found = re.match(r"\[(\d+)\]", path[len(container) :]) if path.startswith(container) else None
        if found is None:
            return path
        index = int(found[1]) - (longer - shorter)
        return None if index < 0 else f"{container}[{index}]{path[len(container) + found.end() :]}"

    kept = [(number, path) for number, (old, _) in enumerate(outcome.leaves) if (path := moved(old)) is not None]
    structure = []
    for path, text in outcome.structure:
        new = moved(path)
        if new is not None:
            structure.append((new, text.replace(f" of {longer}", f" of {shorter}") if path == container else text))
    return outcome._replace(
        leaves=tuple((path, outcome.leaves[number][1]) for number, path in kept),
        computed=tuple(outcome.computed[number] for number, _ in kept) if outcome.computed else (),
        structure=tuple(structure),
    )
