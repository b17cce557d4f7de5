"""Checks of the settings that users pass to `check`: each raises InvalidArgument that names the setting."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from simstrategy.check.laws import BY_NAME, DEFAULT
from simstrategy.check.row import Row
from simstrategy.check.study import ScheduleMaker
from simstrategy.errors import InvalidArgument
from simstrategy.schedules import Every, InOrder
from simstrategy.short_repr import short_repr
from simstrategy.strategy import Semantics

__all__ = [
    "BACKENDS",
    "OnRow",
    "arguments_of",
    "chosen",
    "exemptions_of",
    "require_defaults",
    "require_lists",
    "require_settings",
]

BACKENDS: Final = ("sim",)
"""The default of `check`."""

OnRow = Callable[[Row], None]


def chosen(laws: Iterable[str], without: Iterable[str]) -> list[str]:
    """Returns the names of the laws that are chosen, in the order of `BY_NAME`.  Raises InvalidArgument."""
    for name in (*laws, *without):
        if name not in BY_NAME and name != "all":
            raise InvalidArgument(f"There is no law {name!r}: choose from {', '.join(BY_NAME)}, or all.")
    added = {*DEFAULT, *(BY_NAME if "all" in laws else laws)}
    left_out = {*(BY_NAME if "all" in without else without)}
    return [name for name in BY_NAME if name in added and name not in left_out]


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
    "require": str,
}
_MAY_BE_EMPTY: Final = frozenset({"workers", "laws", "without", "require"})


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
        if not _takes(program, name):
            raise InvalidArgument(f"The program takes no argument {name!r}. Correct the name, or define the parameter.")
    return dict(vary)


def _takes(program: object, name: object) -> bool:
    """Returns whether a function takes an argument by name; True for one without a readable signature."""
    if not callable(program):
        return True
    try:
        parameters = inspect.signature(program).parameters
    except (TypeError, ValueError):
        return True
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
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


def require_settings(program: object, timeout_s: float, allow_errors: bool, on_row: OnRow) -> None:
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
    if not callable(on_row):
        raise InvalidArgument(
            f"on_row is a function that takes a Row, got {short_repr(on_row)}. Pass a function, or leave it out."
        )


def require_defaults(
    backends: Sequence[str],
    workers: Sequence[int],
    schedules: Sequence[ScheduleMaker | Every],
    semantics: Semantics,
    laws: Sequence[str],
) -> None:
    """Raises InvalidArgument for settings that another library's strategy does not have."""
    given = {
        "backends": tuple(backends) != BACKENDS,
        "workers": bool(workers),
        "schedules": list(schedules) != [InOrder],
        "semantics": semantics is not Semantics.TF1_15,
        "laws": bool(laws),
    }
    wrong = [name for name, changed in given.items() if changed]
    if wrong:
        raise InvalidArgument(
            f"The program takes another library's strategy, which has no {' and no '.join(wrong)} to choose: leave "
            f"that out, and give replicas only. To run on simstrategy's backends, let it take a simstrategy.Strategy."
        )
