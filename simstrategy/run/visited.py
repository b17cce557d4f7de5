"""Objects that a walk over references has come by: so that what refers to itself has an end."""

from typing import Any, final

__all__ = ["Visited"]


@final
class Visited:
    """Groups of objects, compared by identity, and kept as long as this set."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[tuple[int, ...], tuple[Any, ...]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def __contains__(self, one: object) -> bool:
        return _key((one,)) in self._kept

    def enter(self, *objects: Any) -> bool:
        """Adds a group of objects; returns whether it is new."""
        return self._kept.setdefault(_key(objects), objects) is objects


def _key(objects: tuple[object, ...]) -> tuple[int, ...]:
    return tuple([id(one) for one in objects])
