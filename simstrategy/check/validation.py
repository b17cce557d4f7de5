"""Checks of the settings that users pass to `check`: each raises InvalidArgument that names the setting."""

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from simstrategy.check.law_table import BY_SETTING, LAWS, NAMED
from simstrategy.check.row import Row
from simstrategy.errors import InvalidArgument
from simstrategy.schedules import Every
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
    "require_same_on",
    "require_settings",
]

BACKENDS: Final = ("sim",)
"""The default of `check`."""

OnRow = Callable[[Row], None]
Runs = Mapping[str, bool]


def chosen(laws: Iterable[str], without: Iterable[str], same_on: Collection[str] = ()) -> list[str]:
    """Returns the names of the laws of `NAMED` that are judged, in their order.  Raises InvalidArgument."""
    for name in (*laws, *without):
        if name not in NAMED and name != "all":
            raise InvalidArgument(f"There is no law {name!r}: choose from {', '.join(NAMED)}, or all.")
    if same_on:
        return [name for name in NAMED if name in same_on]
    added = {name for name in NAMED if LAWS[name].default} | {*(NAMED if "all" in laws else laws)}
    left_out = {*(NAMED if "all" in without else without)}
    return [name for name in NAMED if name in added and name not in left_out]


def require_same_on(same_on: Collection[str], laws: Collection[str], without: Collection[str], runs: Runs) -> None:
    """Raises InvalidArgument unless `same_on` names exactly what the other settings give to compare.

    runs: for each law whose runs a setting chooses, whether the setting has any.
    """
    if not same_on:
        return
    known = [name for name in LAWS if name in BY_SETTING or name in NAMED]
    for name in same_on:
        if name not in known:
            raise InvalidArgument(
                f"same_on names on what a result must be the same, and {name!r} is none of {', '.join(known)}. Correct "
                f"it."
            )
    if laws or without:
        raise InvalidArgument(
            "same_on names every law that is judged, so laws and without (--laws and --not) have nothing to add or to "
            "leave out: give same_on alone, or leave it out."
        )
    for name, given in runs.items():
        if name in same_on and not given:
            raise InvalidArgument(f"same_on names {name!r}, which has nothing to compare: {LAWS[name].needs}.")
        if given and name not in same_on and name != "replicas":
            setting = "vary" if name == "cut" else name
            raise InvalidArgument(
                f"The setting {setting} gives runs to compare, and same_on does not name {name!r}: name it, or leave "
                f"{setting} out."
            )


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


def require_defaults(given: Mapping[str, bool]) -> None:
    """Raises InvalidArgument for settings that another library's strategy does not have.

    given: by the name of each setting, whether it is another one than the default.
    """
    wrong = [name for name, changed in given.items() if changed]
    if wrong:
        raise InvalidArgument(
            f"The program takes another library's strategy, which has no {' and no '.join(wrong)} to choose: leave "
            f"that out, and give replicas only. To run on simstrategy's backends, let it take a simstrategy.Strategy."
        )
