"""Writes the paragraph of a cause: the place, the difference, the parts where they matter, the kind."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from simstrategy.check.causes.alignment import Pair
from simstrategy.check.causes.combination import Combination, differing
from simstrategy.check.causes.facts import FIRST_REPLICA, Finding, Host, PointFacts
from simstrategy.check.causes.kinds import the_factor
from simstrategy.check.causes.origin import Origin
from simstrategy.check.causes.rounding import wide
from simstrategy.check.distances import distances
from simstrategy.trace.recording import STEP_CHANGES

__all__ = ["NOT_RECOGNISED", "listed", "nothing_text", "paragraph"]

NOT_RECOGNISED: Final = "The kind is not recognised"
"""How the last sentences of a paragraph begin that names no kind."""


def paragraph(
    origin: Origin,
    finding: Finding | None,
    counts: tuple[int, int],
    extra: PointFacts | None,
    who: tuple[str, str] | None = None,
    leaf: int | None = None,
) -> str:
    """Returns one paragraph.

    extra: an earlier point of the step that one run alone has. who: what the two runs are called, the reference first;
    None for their numbers of replicas. leaf: the number of the value that the point is named after; None for the one
    that is farthest apart, with its number.
    """
    one = origin.scene.one
    sentences = [f"{_place(origin)} differs first: {_size(one, leaf)}"]
    if finding is None or finding.kind is None:
        sentences.append(_unrecognised(one, finding))
        if not origin.sure:
            sentences.append(
                "Which of several values that differ in this step has the effect does not follow from them"
            )
    else:
        if finding.by_parts and one.parts is not None and str(one.parts[0]) not in finding.reason:
            sentences.append(f"The parts of this step have {listed(one.parts)} examples")
        also = "".join([f", or {one}" for one in finding.also])
        sentences.append(f"The kind is {finding.kind}{also}: {finding.reason}")
        if finding.remedy:
            sentences.append(finding.remedy)
    if extra is not None and not (counts[0] == 1 and extra.what == "reduce"):
        sentences.append(f"Before it, only one of the runs has {_call(extra)} at {extra.site}")
    one_name, other_name = who or (_replicas(counts[0]), _replicas(counts[1]))
    return f"{other_name} against {one_name}: " + ". ".join(sentences) + "."


def nothing_text(pairs: Sequence[Pair]) -> str:
    """Returns the sentence for runs of which no recorded value explains the difference."""
    if not any(pair.one is not None for pair in pairs):
        return "The cause is not recognised: the runs have no synchronisation point that could be compared."
    return "The cause is not recognised: all recorded values that the program keeps are equal up to rounding."


def _replicas(count: int) -> str:
    return "1 replica" if count == 1 else f"{count} replicas"


def listed(parts: Sequence[object]) -> str:
    """Returns some things, at least one, as in "1, 2 and 3"."""
    return " and ".join([", ".join(map(str, parts[:-1])), str(parts[-1])]) if len(parts) > 1 else str(parts[0])


def _call(point: PointFacts) -> str:
    words = [point.what, point.op or "", f"of {point.subject!r}" if point.subject else ""]
    return " ".join(word for word in words if word)


def _place(origin: Origin) -> str:
    point = origin.scene.one.other
    if point.what == "result":
        return _result(point.subject)
    where = f" at {point.site}" if point.site else ""
    text = f"in step {point.step}, {_call(point)}{where}" if point.step else f"{_call(point)}{where}"
    kept = None if origin.kept is None else origin.kept.other
    if kept is not None and kept is not point and kept.subject and kept.subject != point.subject:
        kept_name = _result(kept.subject) if kept.what == "result" else f"the variable {kept.subject!r}"
        text += f", from which {kept_name} is computed," if origin.followed else f", before {kept_name},"
    return text


def _result(path: str | None) -> str:
    """Returns the name of a result: a path such as result['mean'] as it is, any other text in quotes."""
    return path if path is not None and path.startswith("result[") else f"the result {path!r}"


def _size(one: Combination, named: int | None) -> str:
    if [leaf.shape for leaf in one.expected] != [leaf.shape for leaf in one.found]:
        shapes = [" and ".join(str(list(leaf.shape)) for leaf in leaves) for leaves in (one.found, one.expected)]
        return f"its shape is {shapes[0]}, and {shapes[1]} in the reference"
    worst = max(differing(one) or [0], key=lambda number: _apart(one, number)) if named is None else named
    apart, unit = _apart(one, worst), one.units[worst]
    leaf = f"of value {worst + 1} of {len(one.expected)}, " if len(one.expected) > 1 and named is None else ""
    expected, found = one.expected[worst], one.found[worst]
    if not np.isfinite(apart):
        unequal = int(np.argmax(np.asarray(expected.reshape(-1) != found.reshape(-1))))
        return f"{leaf}{_element(expected, found, unequal)}"
    size = f"{apart:.1e} of the largest element apart, where rounding explains {unit:.1e}"
    if one.scale != 1.0:  # the program scales the value later: what it holds here stands beside no number like it
        return f"{leaf}by {size}"
    farthest = int(np.argmax(np.abs(wide(expected) - wide(found)).reshape(-1))) if expected.size else 0
    return f"{leaf}{_element(expected, found, farthest)}: {size}"


def _element(expected: Host, found: Host, number: int) -> str:
    """Returns one element of two arrays [any shape] beside each other.  number: of the element."""
    if not expected.size:
        return "it is empty"
    place = ", ".join(map(str, np.unravel_index(number, expected.shape)))
    values = [array.reshape(-1)[number].item() for array in (found, expected)]
    return f"{f'element [{place}]' if place else 'it'} is {values[0]:.7g}, and {values[1]:.7g} in the reference"


def _apart(one: Combination, number: int) -> float:
    return distances(one.expected[number], np.asarray(one.found[number], one.expected[number].dtype))[0]


def _unrecognised(one: Combination, finding: Finding | None) -> str:
    if finding is not None:
        return f"{NOT_RECOGNISED}: {finding.reason}"
    if one.other.what == STEP_CHANGES and one.other.op == FIRST_REPLICA and one.replicas > 1:
        return f"{NOT_RECOGNISED}: by its aggregation it keeps what replica 0 writes, and what the others write is lost"
    k = the_factor(one)
    if k is not None and max(leaf.size for leaf in one.expected) > 1:
        return (
            f"{NOT_RECOGNISED}: the found values are {k:.6g} times the expected ones, which is no number of "
            f"replicas, steps or parts"
        )
    if one.is_elementwise and one.rule is not None and one.differ_among_replicas:
        return f"{NOT_RECOGNISED}: neither one factor nor the sizes of the parts explain the difference"
    return NOT_RECOGNISED
