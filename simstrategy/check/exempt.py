"""Exemptions: values of a result that no law compares, each with its reason.

A program exempts a value where it returns it; a check exempts values by name. Nothing is exempt by a tolerance.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import takewhile
from typing import Any, Final, NamedTuple

from simstrategy.errors import InvalidArgument
from simstrategy.short_repr import short_repr

__all__ = ["Exempt", "exempt", "matching", "name_of", "pattern_of", "reason_for", "require_exemptions"]

_PART: Final = re.compile(
    r"""\['((?:[^'\\]|\\.)*)'\]      # a key that is a text
      | \["((?:[^"\\]|\\.)*)"\]
      | \[([^\]]*)\]                 # an index, or a key of another type
      | \.([A-Za-z_]\w*)             # an attribute
    """,
    re.VERBOSE,
)
_VARIABLE: Final = re.compile(r"variable \d+ '(.*)'(?:, replica \d+)?")


class Exempt(NamedTuple):
    """A value that a program returns, and why no law compares it."""

    value: Any
    reason: str


def exempt(value: Any, *, reason: str) -> Exempt:
    """Marks a value of a program's result as one that no law compares.  Backends are compared all the same.

    value: any part of what the program returns. reason: a text that reports repeat. Raises InvalidArgument for an empty
    reason.

    >>> exempt([0.3, 0.1], reason="drawn for each replica on purpose").reason
    'drawn for each replica on purpose'
    """
    if not isinstance(reason, str) or not reason.strip():
        raise InvalidArgument(
            f"exempt takes a reason, which reports repeat, got {short_repr(reason)}. State why the value may differ."
        )
    return Exempt(value, reason)


def name_of(path: str) -> str:
    """Returns the name by which a check exempts a leaf: keys, indices and attributes, with slashes between.

    >>> name_of("result['history']['noise'][0]")
    'history/noise/0'
    >>> name_of("variable 3 'dense/w', replica 1")
    'dense/w'
    """
    variable = _VARIABLE.fullmatch(path)
    if variable is not None:
        return variable[1]
    return "/".join(next(part for part in found if part is not None) for found in map(_groups, _PART.finditer(path)))


def _groups(found: re.Match[str]) -> tuple[str | None, ...]:
    return found.groups()


def matching(patterns: Mapping[str, str], path: str) -> str | None:
    """Returns the first pattern that names a leaf, or one of the containers around it; None for no pattern.

    A bracket in a pattern stands for itself, or begins a set of characters.

    >>> matching({"history/*": "drawn"}, "result['history']['noise'][0]")
    'history/*'
    >>> matching({"aug[0]": "drawn"}, "result['aug[0]']"), matching({"log/[01]": "printed"}, "result['log'][1]")
    ('aug[0]', 'log/[01]')
    """
    name = name_of(path)
    for pattern in patterns:
        for form in (pattern.replace("[", "[[]"), pattern):
            if fnmatchcase(name, form) or fnmatchcase(name, f"{form}/*"):
                return pattern
    return None


def reason_for(path: str, reasons: Mapping[str, str], patterns: Mapping[str, str]) -> str | None:
    """Returns why a value is exempt, by the program or by the check; None for one that is not.

    reasons: by the path of what the program exempts. patterns: names of the check's exemptions.
    """
    for exempted, reason in reasons.items():
        if path == exempted or path.startswith((f"{exempted}[", f"{exempted}.", f"{exempted} ")):
            return reason
    pattern = matching(patterns, path)
    return None if pattern is None else patterns[pattern]


def require_exemptions(patterns: Mapping[str, str], paths: Iterable[str]) -> None:
    """Raises InvalidArgument for an exemption that names no value of the paths."""
    known = list(paths)
    for pattern in patterns:
        if not any(matching({pattern: ""}, path) for path in known):
            names = list(dict.fromkeys(name_of(path) or "(the result itself)" for path in known))
            raise InvalidArgument(
                f"The exemption {pattern!r} names no value of this program: it has {', '.join(names[:10])}"
                f"{' …' if len(names) > 10 else ''}. Correct the name, or leave the exemption out."
            )


def pattern_of(names: Sequence[str]) -> str | None:
    """Returns a pattern that names all of these values, which end alike; None for others.

    >>> pattern_of(["layers.0.key.bias", "layers.1.key.bias"]), pattern_of(["left/0", "left/1"])
    ('*.key.bias', None)
    """
    if len(names) == 1:
        return names[0]
    ends = [name.split(".")[::-1] for name in names]
    alike = [parts[0] for parts in takewhile(lambda parts: len({*parts}) == 1, zip(*ends, strict=False))]
    return ".".join(["*", *alike[::-1]]) if len(alike) > 1 else None
