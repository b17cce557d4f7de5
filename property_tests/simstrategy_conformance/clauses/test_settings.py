"""The array functions with all combinations of their settings, and with every pair of unusual numbers."""

import inspect
from typing import Any

import numpy as np
import pytest

import simstrategy as ss
from simstrategy_conformance.arrays import NUMBERS
from simstrategy_conformance.calling import agrees, all_agree, call, check, put
from simstrategy_conformance.calls import Case
from simstrategy_conformance.checking import clause
from simstrategy_conformance.every_call import arrays_in, every_call
from simstrategy_conformance.set_calls import scattered
from simstrategy_conformance.subject import Subject

ALL = (*NUMBERS, "bool")
COMBINED = "test_a_function_with_every_combination_of_settings"


FUNCTIONS = ss.device.NAMES


@clause("B-18")
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_with_every_combination_of_settings(subject: Subject, function: str) -> None:
    cases = every_call(subject.having(*ALL)).get(function, ())
    all_agree(subject, COMBINED, ((function, case) for case in cases), parts=len(FUNCTIONS))


def _copied(subject: Subject, value: Any) -> Any:
    if isinstance(value, list):
        return [_copied(subject, one) for one in value]
    return value.copy() if isinstance(value, np.ndarray) else value


def _overwrite(values: list[Any]) -> None:
    """Writes other numbers into host arrays."""
    for array in arrays_in(values, (np.ndarray,)):
        array[...] = ~array if array.dtype.kind == "b" else 77


def _as_lists(subject: Subject, value: Any) -> Any:
    if isinstance(value, list):
        return [_as_lists(subject, one) for one in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def _as_numpys(subject: Subject, value: Any) -> Any:
    """Returns a setting as people may have it: NumPy's numbers, and a list for several."""
    if isinstance(value, bool):
        return np.bool_(value)
    if isinstance(value, tuple) and all(type(one) is int for one in value):
        return [np.int64(one) for one in value]
    return np.int64(value) if type(value) is int else put(subject, value)


PLACED = {
    "reshape": 1,
    "permute_dims": 1,
    "squeeze": 1,
    "broadcast_to": 1,
    "moveaxis": 1,
    "roll": 1,
    "tile": 1,
    "eye": 0,
}
"""The functions whose settings are given by place, with the first place of one."""
NAMED = ("axis", "k", "n", "num", "correction", "keepdims", "axes", "descending", "include_initial")
SETTABLE = tuple(
    name
    for name in FUNCTIONS
    if name in PLACED or {*inspect.signature(getattr(ss.device.ArrayNamespace, name)).parameters} & {*NAMED}
)


def _with_numpys(subject: Subject, name: str, case: Case) -> Case:
    first = PLACED.get(name, len(case.arguments))
    arguments = (*case.arguments[:first], *(_as_numpys(subject, one) for one in case.arguments[first:]))
    return case._replace(arguments=arguments, options={k: _as_numpys(subject, v) for k, v in case.options.items()})


@clause("B-18")
@pytest.mark.parametrize("function", SETTABLE)
def test_a_setting_may_be_a_number_of_numpy_or_a_list(subject: Subject, function: str) -> None:
    """Of each function the calls with the most settings, those of which a setting is a tuple last."""
    cases = list(every_call(subject.having(*ALL))[function])
    cases.sort(key=lambda one: (any(type(value) is tuple for value in one.options.values()), len(one.options)))
    with np.errstate(all="ignore"):
        for case in cases[-2 if subject.profile.rows_max is None else -1 :]:
            agrees(subject, function, _with_numpys(subject, function, case))


def _can_be_lists(case: Case) -> bool:
    """Returns whether the dtypes of a call's arrays are those that lists of their numbers become."""
    found = arrays_in(case.arguments, (np.ndarray,))
    return bool(found) and all(one.ndim and one.size and one.dtype in USUAL for one in found)


USUAL = ("float32", "int32", "bool")
CASTING = ("asarray", "astype")
"""What may refuse numbers that its dtype would change."""


@clause("B-18")
@pytest.mark.parametrize("function", [name for name in FUNCTIONS if name not in CASTING])
def test_a_function_adopts_host_data(subject: Subject, function: str) -> None:
    """What is written into it when the call has returned changes no result."""
    cases = list(filter(_can_be_lists, every_call(subject.having(*ALL)).get(function, ())))
    device = subject.open(2).devices[1]
    few = 2 if subject.profile.rows_max is None else 1
    with np.errstate(all="ignore"), subject.open(2).on(device):
        for case in cases[:few]:
            agrees(subject, function, case, given=_as_lists)
            agrees(subject, function, case, given=_copied, then=_overwrite)


@clause("B-18")
def test_every_number_of_the_host_is_adopted(subject: Subject) -> None:
    """Those with all their digits, those that are not finite, and those that are next to zero; also in a list."""
    with subject.open(2).on(subject.open(2).devices[1]):
        for dtype in subject.having("float16", "float32", "float64"):
            of = np.finfo(dtype)
            least = of.smallest_subnormal
            rows = [[1 / 3, 1 + of.eps, of.max], [np.nan, np.inf, -0.0], [least, -3 * least, of.tiny / 2]]
            host = np.array(rows, dtype)
            for given in (host, [*host]):
                check(subject, call(subject, "asarray", given), host)


@clause("B-18")
@pytest.mark.parametrize("layout", ["big-endian", "from behind", "transposed", "read-only"])
def test_host_data_of_any_layout_is_adopted(subject: Subject, layout: str) -> None:
    device = subject.open(2).devices[1]
    with subject.open(2).on(device):
        for dtype in subject.having("float32", "int32", "float16", "int64", "complex64"):
            host = scattered((2, 3), dtype)
            given = {
                "big-endian": host.astype(host.dtype.newbyteorder(">")),
                "from behind": host[::-1, ::-1].copy()[::-1, ::-1],
                "transposed": host.T.copy().T,
                "read-only": host.copy(),
            }[layout]
            given.setflags(write=layout != "read-only")
            check(subject, call(subject, "asarray", given), host)
            check(subject, call(subject, "negative", given), -host)
