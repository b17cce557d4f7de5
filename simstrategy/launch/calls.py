"""One call of one replica or worker at a synchronisation point, and whether two of them are alike.

A call is also written as JSON has it, to be sent between processes. Nothing here compares the calls of all workers.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from simstrategy.trace import describe_site

__all__ = ["Call", "Form", "alike", "any_size", "call_of", "message_of", "written"]

Form: TypeAlias = tuple[tuple[int | None, ...] | None, str]
"""Shape and dtype; a size is None where it may differ, and a shape where its rank is not known."""

_SHOWN_MAX: Final = 3


class Call(NamedTuple):
    """What is called.  what: kind and operation. forms: of its values; a size is None where it may differ.

    site: file and line. copies: a digest for each value of which all workers should have the same copy, "" for another
    one; () where they are not known. Calls with other copies are alike.
    """

    what: str
    forms: tuple[Form, ...]
    site: tuple[str, int]
    copies: tuple[str, ...] = ()

    def text(self) -> str:
        """Returns the call for a message: what, the first forms, and the line."""
        values = ", ".join(map(written, self.forms[:_SHOWN_MAX]))
        more = f" and {len(self.forms) - _SHOWN_MAX} more" if len(self.forms) > _SHOWN_MAX else ""
        return f"{self.what} {values}{more}".rstrip() + f" at {describe_site(self.site)}"


def written(form: Form) -> str:
    """Returns a form as text.

    >>> written(((2, None), "float32")), written((None, "int64"))
    ('float32[2,?]', 'int64[…]')
    """
    shape, dtype = form
    return f"{dtype}[{'…' if shape is None else ','.join('?' if size is None else str(size) for size in shape)}]"


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


def message_of(call: Call) -> dict[str, Any]:
    """Returns a call as JSON has it."""
    forms = [[shape, dtype] for shape, dtype in call.forms]
    return {"call": call.what, "forms": forms, "site": call.site, "copies": call.copies}


def call_of(message: Mapping[str, Any]) -> Call:
    """Returns the call of a message."""
    forms = tuple([(None if shape is None else tuple(shape), dtype) for shape, dtype in message["forms"]])
    return Call(message["call"], forms, (message["site"][0], message["site"][1]), tuple(message["copies"]))


def _same_forms(one: Sequence[Form], other: Sequence[Form]) -> bool:
    return len(one) == len(other) and all(
        left[1] == right[1]
        and (left[0] is None or right[0] is None or len(left[0]) == len(right[0]))
        and all(a is None or b is None or a == b for a, b in zip(left[0] or (), right[0] or (), strict=False))
        for left, right in zip(one, other, strict=True)
    )
