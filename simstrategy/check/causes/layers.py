"""States a cause that runs have shown in which layers do what they do outside of training."""

from collections.abc import Sequence

from simstrategy.check.causes.facts import Cause
from simstrategy.check.causes.wording import NOT_RECOGNISED

__all__ = ["of_layers"]


def of_layers(cause: Cause, kinds: Sequence[str], texts: Sequence[str]) -> Cause:
    """Returns a cause of these kinds, the first one its own, with sentences in place of those that name no kind.

    texts: sentences on the layers, without their stops.  Clause: J-78.
    """
    before, _, after = cause.text.partition(NOT_RECOGNISED)
    rest = after.partition(". ")[2]
    text = f"{before}The kind is {', or '.join(kinds)}: {'. '.join(texts)}.{' ' if rest else ''}{rest}"
    return cause._replace(kind=kinds[0], also=tuple(kinds[1:]), text=text, certain=True)
