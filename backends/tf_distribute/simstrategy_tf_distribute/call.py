"""One call of one replica or worker at a synchronisation point, and whether two of them are alike."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from simstrategy.trace import describe_site
from simstrategy_tf_distribute.forms import Form, written
from simstrategy_tf_distribute.lines import Site

__all__ = ["Call", "alike", "any_size"]

_SHOWN_MAX: Final = 3


class Call(NamedTuple):
    """What is called.  what: kind and operation. forms: of its values; a size is None where it may differ."""

    what: str
    forms: tuple[Form, ...]
    site: Site

    def text(self) -> str:
        """Returns the call for a message: what, the first forms, and the line."""
        values = ", ".join(map(written, self.forms[:_SHOWN_MAX]))
        more = f" and {len(self.forms) - _SHOWN_MAX} more" if len(self.forms) > _SHOWN_MAX else ""
        return f"{self.what} {values}{more}".rstrip() + f" at {describe_site(self.site)}"


def alike(one: Call | None, other: Call | None) -> bool:
    """Returns whether two calls can be combined; None stands for a replica that has returned."""
    if one is None or other is None:
        return one is other
    return one.what == other.what and _same_forms(one.forms, other.forms)


def any_size(form: Form, axis: int) -> Form:
    """Returns a form whose size along an axis may differ.

    >>> any_size(((2, 3), "float32"), -1)
    ((2, None), 'float32')
    """
    shape, dtype = form
    if shape is None or not isinstance(axis, int) or not -len(shape) <= axis < len(shape):
        return form
    return tuple([None if place == axis % len(shape) else size for place, size in enumerate(shape)]), dtype


def _same_forms(one: Sequence[Form], other: Sequence[Form]) -> bool:
    return len(one) == len(other) and all(
        left[1] == right[1]
        and (left[0] is None or right[0] is None or len(left[0]) == len(right[0]))
        and all(a is None or b is None or a == b for a, b in zip(left[0] or (), right[0] or (), strict=False))
        for left, right in zip(one, other, strict=True)
    )
