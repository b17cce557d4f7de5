"""Checks of the settings that users pass to `check`: each raises InvalidArgument that names the setting."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from simstrategy.check.row import Row
from simstrategy.errors import InvalidArgument
from simstrategy.schedules import Every
from simstrategy.short_repr import short_repr, stable_repr
from simstrategy.strategy import Semantics

__all__ = [
    "OnRow",
    "arguments_of",
    "exemptions_of",
    "require_lists",
    "require_settings",
]

OnRow = Callable[[Row], None]


def exemptions_of(exempt: Mapping[str, str] | None) -> Mapping[str, str]:
    """Returns the exemptions.  Raises InvalidArgument for what is no mapping of texts, and for an empty reason."""
    if exempt is None:
        return {}
    if not isinstance(exempt, Mapping):
        raise InvalidArgument(
            f'exempt maps names of values to reasons, such as {{"loss": "drawn on purpose"}}, got {short_repr(exempt)}.'
        )
    for name, reason in exempt.items():
        if not isinstance(name, str) or not isinstance(reason, str) or not reason.strip():
            raise InvalidArgument(
                f"exempt maps names of values to reasons, got {short_repr(name)}: {short_repr(reason)} in it. State "
                f"why the value may differ."
            )
    return dict(exempt)


_TYPES: Final[dict[str, type]] = {
    "backends": str,
    "replicas": int,
    "workers": int,
    "semantics": Semantics,
    "laws": str,
    "without": str,
    "same_on": str,
    "require": str,
}
_MAY_BE_EMPTY: Final = frozenset({"workers", "laws", "without", "same_on", "require"})


def arguments_of(program: object, vary: Mapping[str, Sequence[Any]] | None) -> Mapping[str, Sequence[Any]]:
    """Returns the arguments that vary.  Raises InvalidArgument for one value, and for an unknown one."""
    if vary is None:
        return {}
    if not isinstance(vary, Mapping):
        raise InvalidArgument(
            f'vary maps arguments to values, such as {{"accumulate": [1, 2]}}, got {short_repr(vary)}.'
        )
    for name, values in vary.items():
        if not isinstance(values, Sequence) or isinstance(values, str) or len(values) < 2:
            raise InvalidArgument(
                f"vary needs at least two values for {name!r}, got {short_repr(values)}: the others are compared with "
                f"the first."
            )
        again = [one for number, one in enumerate(values) if any(_alike(one, other) for other in values[:number])]
        if again:
            raise InvalidArgument(
                f"vary gives {name!r} the value {short_repr(again[0])} twice: a run would be compared with itself. "
                f"Give each value once."
            )
        if not _takes(program, name):
            raise InvalidArgument(f"The program takes no argument {name!r}. Correct the name, or define the parameter.")
    return dict(vary)


def _alike(one: object, other: object) -> bool:
    """Returns whether two values are one for a program: of one type, with one text."""
    return type(one) is type(other) and stable_repr(one) == stable_repr(other)


def _takes(program: object, name: object) -> bool:
    """Returns whether a function takes an argument by name, besides its first one, which is the strategy.

    True for a function without a readable signature.
    """
    if not callable(program):
        return True
    try:
        parameters = inspect.signature(program).parameters
    except (TypeError, ValueError):
        return True
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    if str(name) == next(iter(parameters), None):
        return False
    found = parameters.get(str(name))
    others = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
    return others or (found is not None and found.kind in by_name)


def require_lists(**lists: Sequence[object]) -> None:
    """Raises InvalidArgument for a setting that is not a list of the right type, and for an empty list."""
    for name, given in lists.items():
        if name == "semantics" and not isinstance(given[0], Semantics):
            raise InvalidArgument(f"semantics is a profile such as Semantics.TF2, got {short_repr(given[0])}.")
        wanted = _TYPES.get(name)
        if not isinstance(given, Sequence) or isinstance(given, str):
            raise InvalidArgument(f"{name} is a list, such as {name}=[…], got {short_repr(given)}.")
        if not given and name not in _MAY_BE_EMPTY:
            raise InvalidArgument(f"{name} is empty: nothing would be checked. Name at least one.")
        for one in given:
            if (wanted is None and not callable(one) and not isinstance(one, Every)) or (
                wanted is not None and not isinstance(one, wanted)
            ):
                kind = "functions that make a schedule" if wanted is None else f"a list of {wanted.__name__}"
                raise InvalidArgument(f"{name} is {kind}, got {short_repr(one)} in it.")


def require_settings(program: object, timeout_s: float, allow_errors: bool, compiled: bool, on_row: OnRow) -> None:
    """Raises InvalidArgument for what is no function, no number of seconds above 0, and no bool.

    What is given may have any type.
    """
    if not callable(program):
        raise InvalidArgument(f"check takes a function program(strategy), got {short_repr(program)}. Pass one.")
    seconds: object = timeout_s
    if not isinstance(seconds, (int, float)) or isinstance(seconds, bool) or not seconds > 0:
        raise InvalidArgument(
            f"timeout_s is a number of seconds above 0, got {short_repr(seconds)}. Pass for example 60.0."
        )
    if not isinstance(allow_errors, bool):
        raise InvalidArgument(f"allow_errors is True or False, got {short_repr(allow_errors)}. Pass one of these.")
    if not isinstance(compiled, bool):
        raise InvalidArgument(f"compiled is True or False, got {short_repr(compiled)}. Pass one of these.")
    if not callable(on_row):
        raise InvalidArgument(
            f"on_row is a function that takes a Row, got {short_repr(on_row)}. Pass a function, or leave it out."
        )
