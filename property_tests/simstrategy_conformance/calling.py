"""Calls array functions of a subject, and compares what they return with what was expected.  It draws nothing."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np

import simstrategy as ss
from simstrategy_conformance.calls import Case
from simstrategy_conformance.observe import same_bits
from simstrategy_conformance.subject import Subject
from simstrategy_conformance.tally import count

__all__ = ["agrees", "all_agree", "call", "check", "form_of", "put"]

Host = np.ndarray[Any, Any]
_SHOWN: Final = 32
"""Arrays of up to so many elements are shown in full."""


def put(subject: Subject, value: Any) -> Any:
    """Puts host arrays on the last of two devices, also those in a list, and leaves everything else as it is."""
    backend = subject.open(2)
    if isinstance(value, list):
        return [put(subject, one) for one in value]
    return backend.put(value, backend.devices[1]) if isinstance(value, np.ndarray) else value


def check(subject: Subject, found: Any, wanted: Any) -> None:
    """Fails unless an array has the dtype, the shape and the bits of a host array."""
    wanted = np.asarray(wanted)
    got = subject.open(2).get(found)
    assert same_bits(wanted, got), _different(wanted, got, same_bits)


def call(subject: Subject, name: str, *arguments: Any, **options: Any) -> Any:
    """Calls an array function of a subject by its name."""
    return getattr(subject.open(2).xp, name)(*arguments, **options)


def agrees(
    subject: Subject,
    name: str,
    case: Case,
    *,
    given: Callable[[Subject, Any], Any] = put,
    then: Callable[[list[Any]], None] = lambda _: None,
) -> None:
    """Fails unless a call returns what was expected: to the bit, or within a few last places where it is near.

    It is made again without the settings that are what they are where they are not given. given: what each list, host
    array and setting of the call becomes. then: is called with all of them when the call has returned, and before its
    result is read.
    """
    __tracebackhide__ = True
    _agrees(subject, name, case, given, then)
    fewer = {key: value for key, value in case.options.items() if not _is_default(name, key, value)}
    if len(fewer) < len(case.options):
        _agrees(subject, name, case._replace(options=fewer), given, then)


def all_agree(subject: Subject, test: str, calls: Iterable[tuple[str, Case]], *, parts: int = 1) -> None:
    """Fails with the first call, of a function by its name, whose result is not the expected one.

    test: for which the calls are counted. parts: in how many parts its calls come, of which these are one. Where each
    form is compiled, as many calls of a test are tried as rows, evenly chosen, and at least one of each part.
    """
    __tracebackhide__ = True
    with np.errstate(all="ignore"):  # some are about infinity
        tried = list(calls)
        most = max(1, subject.profile.rows_max // parts) if subject.profile.rows_max else len(tried)
        for name, case in tried[:: -(-len(tried) // max(1, most)) or 1]:
            count(test)
            try:
                agrees(subject, name, case)
            except Exception as error:
                error.add_note(f"of {name}({', '.join(map(form_of, case.arguments))}, {case.options})")
                raise


def form_of(argument: object) -> str:
    """Returns an argument in words: of an array dtype and shape.

    >>> form_of([np.ones(3, "float32"), 2])
    '[float32[3], 2]'
    """
    if isinstance(argument, list):
        return f"[{', '.join(map(form_of, argument))}]"
    return f"{argument.dtype.name}{list(argument.shape)}" if isinstance(argument, np.ndarray) else repr(argument)


def _is_default(name: str, key: str, value: Any) -> bool:
    default = _defaults(name).get(key, inspect.Parameter.empty)
    return type(default) is type(value) and bool(default == value)


@functools.cache
def _defaults(name: str) -> dict[str, Any]:
    parameters = inspect.signature(getattr(ss.device.ArrayNamespace, name)).parameters
    return {key: one.default for key, one in parameters.items()}


def _agrees(
    subject: Subject, name: str, case: Case, given: Callable[[Subject, Any], Any], then: Callable[[list[Any]], None]
) -> None:
    __tracebackhide__ = True
    backend = subject.open(2)
    options = {key: given(subject, one) for key, one in case.options.items()}
    arguments = [given(subject, one) for one in case.arguments]
    result = call(subject, name, *arguments, **options)
    then([*arguments, *options.values()])
    # What `full` creates is on the current device, wherever its number is.
    if name != "full" and any(isinstance(one, (np.ndarray, list)) for one in case.arguments):
        for one in result if isinstance(result, (tuple, list)) else (result,):
            place = backend.spec(one)[2]
            assert place == backend.devices[1].placement, f"the arguments are not on {place}, and the result is"
    # What several arrays are returned by, NumPy has stacked.
    found = np.stack([backend.get(one) for one in result]) if isinstance(result, (tuple, list)) else backend.get(result)
    wanted = case.wanted
    agree = _are_near if case.near else same_bits
    assert agree(wanted, found), _different(wanted, found, agree)


def _different(wanted: Host, found: Host, agree: Callable[[Host, Host], bool]) -> str:
    """Returns both arrays in words; of large ones the first element in which they do not agree, and how many do not."""
    if max(wanted.size, found.size) <= _SHOWN:
        return f"expected {wanted.dtype} {wanted.tolist()}, found {found.dtype} {found.tolist()}"
    if (wanted.dtype, wanted.shape) != (found.dtype, found.shape):
        return f"expected {form_of(wanted)}, found {form_of(found)}"
    pairs = list(zip(wanted.reshape(-1), found.reshape(-1), strict=True))
    places = [place for place, (one, other) in enumerate(pairs) if not agree(np.asarray(one), np.asarray(other))]
    first = [int(place) for place in np.unravel_index(places[0], wanted.shape)]
    one, other = pairs[places[0]]
    return f"element {first}: expected {wanted.dtype} {one}, found {other}; {len(places)} of {len(pairs)} differ"


def _are_near(wanted: Host, found: Host) -> bool:
    """Returns whether two arrays [any shape] have one dtype and one shape, and agree within a few last places."""
    if (found.dtype, found.shape) != (wanted.dtype, wanted.shape):
        return False
    # 16 units in the last place: fast approximations pass, wrong functions do not.
    least = 8 * float(np.finfo(found.dtype).eps) if found.dtype.kind in "fc" else 0.0
    is_near = np.abs(found - wanted) <= 16 * np.spacing(np.abs(wanted)) + least
    return bool((is_near | (found == wanted) | ((found != found) & (wanted != wanted))).all())
