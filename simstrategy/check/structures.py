"""Compares the containers of two results: types, lengths, keys and attributes, without what is exempt.

A container that is exempt has no description to compare. Of one that holds exempt items, the others count: a list may
be longer by items that are exempt, and a mapping may have keys that are.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, final

__all__ = ["Described", "unlike"]


class Described(NamedTuple):
    """structure: path and description of the containers of a result, in order. leaves: the paths of its values."""

    structure: tuple[tuple[str, str], ...]
    leaves: Sequence[str]


def unlike(left: Described, right: Described, is_exempt: Callable[[str], bool]) -> str | None:
    """Returns the first containers that differ beside what is exempt, right against left; None where none do.

    >>> two, four = [Described((("result", f"list of {n}"),), [f"result[{i}]" for i in range(n)]) for n in (2, 4)]
    >>> unlike(two, four, lambda path: False), unlike(two, four, lambda path: path.startswith("result["))
    ('result: list of 4 against result: list of 2', None)
    """
    if left.structure == right.structure:
        return None
    items = _Items((left, right), is_exempt)
    both = [dict(items.compared(number)) for number in (0, 1)]
    if [*both[0].items()] == [*both[1].items()]:
        return None
    texts = []
    for number, described in ((1, right), (0, left)):
        path = next((path for path, found in both[number].items() if both[1 - number].get(path) != found), None)
        texts += [] if path is None else [f"{path}: {dict(described.structure)[path]}"]
    return " against ".join(texts) or "their containers come in another order"


@final
class _Items:
    """The items of the containers of two results, those that are exempt apart.

    A container is an item like any other; it is exempt as well where all values in it are.
    """

    def __init__(self, sides: tuple[Described, Described], is_exempt: Callable[[str], bool]) -> None:
        self._sides = sides
        self._is_exempt = is_exempt
        self._containers = {path for one in sides for path, _ in one.structure}
        self._with_exempt: set[str] = set()
        """Containers that hold exempt values, in either result."""
        self._with_others: set[str] = set()
        """Those that hold others."""
        self._kept: tuple[dict[str, dict[str, None]], ...] = ({}, {})
        """For each result, by container: the items that are not exempt, in order."""
        holding = {parent for one in sides for path in _paths(one) for parent in self._around(path)}
        for one, kept in zip(sides, self._kept, strict=True):
            for path in _paths(one):
                if path not in holding:
                    self._add(path, kept)

    def compared(self, number: int) -> Iterator[tuple[str, object]]:
        """Yields what is compared of each container: its description, or its type and the items that are not exempt."""
        for path, text in self._sides[number].structure:
            if path not in self._with_exempt and not self._is_exempt(path):
                yield path, text
            elif path in self._with_others:
                yield path, (text.partition(" ")[0], tuple(self._kept[number].get(path, ())))

    def _add(self, path: str, kept: dict[str, dict[str, None]]) -> None:
        """Notes a value, or an empty container, with all containers around it."""
        parents = self._around(path)
        if self._is_exempt(path):
            self._with_exempt.update(parents)
            return
        self._with_others.update(parents)
        for parent, item in pairwise([*parents, path]):
            kept.setdefault(parent, {})[item] = None

    def _around(self, path: str) -> list[str]:
        """Returns the containers around a path, outermost first."""
        ends = [end for end, sign in enumerate(path) if sign in "[. "]
        return [path[:end] for end in ends if path[:end] in self._containers]


def _paths(one: Described) -> Iterator[str]:
    yield from one.leaves
    yield from (path for path, _ in one.structure)
