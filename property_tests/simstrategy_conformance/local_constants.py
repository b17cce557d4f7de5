"""Keeps Hypothesis from drawing the numbers that stand in the modules of its user.

Hypothesis reads the constants of every imported module that is the user's own, and now and then draws one of them.
The same seed would draw other examples wherever another module is imported. Hypothesis has no setting for that
(https://github.com/HypothesisWorks/hypothesis/issues/4627), so its function is replaced while a search runs:
docs/decisions/0018-draws-from-the-seed-alone.md.
"""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any, Final

from hypothesis.internal.conjecture import providers

from simstrategy.errors import Unsupported

__all__ = ["no_local_constants"]

_NAME: Final = "_get_local_constants"
_FOUND: Final = "_local_constants"
_CACHE: Final = "CONSTANTS_CACHE"
_KEPT: Final = 1024
"""So many kinds of draws have their constants in the cache, as in Hypothesis's own."""


@contextmanager
def no_local_constants() -> Iterator[None]:
    """Lets Hypothesis draw from the seed alone, whatever modules are imported.

    Raises: Unsupported where Hypothesis does not have the function that is to be replaced.
    """
    _function()
    kept = _replaced()
    before = {name: vars(providers)[name] for name in kept}
    vars(providers).update(kept)
    try:
        yield
    finally:
        vars(providers).update(before)


@functools.cache
def _replaced() -> dict[str, Any]:
    """Returns what stands in the place of Hypothesis's function and cache, by name; the same for all searches."""
    # In some versions by kind. What was found so far has the same form, and need not be looked for.
    found = vars(providers)[_FOUND] if _FOUND in vars(providers) else _function()()
    nothing = {kind: type(own)() for kind, own in found.items()} if isinstance(found, dict) else type(found)()
    return {_NAME: lambda: nothing, _CACHE: type(vars(providers)[_CACHE])(_KEPT)}


def _function() -> Callable[[], Any]:
    found = vars(providers).get(_NAME)
    if not callable(found) or _CACHE not in vars(providers):
        raise Unsupported(
            f"Hypothesis {version('hypothesis')} reads the constants of imported modules by other means than "
            f"hypothesis.internal.conjecture.providers.{_NAME}, so the same seed would not draw the same examples in "
            f"every process. Install hypothesis<6.171, with which the kit works."
        )
    return found  # type: ignore[no-any-return]
