"""What a call gives on a backend, and whether two of them are alike."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from kinds_of_calls import COMPLEX, Call, Given

import simstrategy as ss
from simstrategy.errors import SimStrategyError

ULPS = 16


class Outcome(NamedTuple):
    """error: the class's name, "" where there is a result.  is_ours: of simstrategy.  values: of each array."""

    error: str
    message: str
    values: tuple[np.ndarray, ...]

    def __str__(self) -> str:
        if self.error:
            return f"{self.error}: {self.message[:110]}"
        return "; ".join(f"{one.dtype.name}{list(one.shape)} {short(one)}" for one in self.values)


def short(array: np.ndarray) -> str:
    return " ".join(str(array.reshape(-1)[:12].tolist()).split())


def put(backend: ss.device.Backend, value: Any) -> Any:
    if isinstance(value, Given):
        return value.host
    if isinstance(value, np.ndarray):
        return backend.put(value, backend.devices[0])
    if isinstance(value, list):
        return [put(backend, one) for one in value]
    return value


def outcome(backend: ss.device.Backend, call: Call) -> Outcome:
    """Makes a call."""
    arguments = [put(backend, one) for one in call.arguments]
    options = {key: put(backend, one) for key, one in call.options.items()}
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            made = getattr(backend.xp, call.name)(*arguments, **options)
            parts = made if isinstance(made, (list, tuple)) else [made]
            return Outcome("", "", tuple(backend.get(one) for one in parts))
    except Exception as error:  # noqa: BLE001 - any class is an outcome
        ours = isinstance(error, SimStrategyError)
        return Outcome(("" if ours else "the framework's ") + type(error).__name__, str(error).replace("\n", " "), ())


def difference(one: Outcome, other: Outcome, ulps: int = ULPS) -> str:
    """Returns the kind of difference between two outcomes, "" for none; ulps: how far floats may be apart."""
    if one.error or other.error:
        if not (one.error and other.error):
            return "error against value"
        return "" if one.error == other.error else "error class"
    if [a.dtype.name for a in one.values] != [a.dtype.name for a in other.values]:
        return "dtype"
    if [a.shape for a in one.values] != [a.shape for a in other.values]:
        return "shape"
    return "" if all(alike(a, b, ulps) for a, b in zip(one.values, other.values, strict=True)) else "value"


def alike(one: np.ndarray, other: np.ndarray, ulps: int) -> bool:
    """Returns whether arrays of one form are equal: NaN is NaN, zeros have their sign, floats are a few ulps apart."""
    if one.dtype.name in COMPLEX:
        return alike(one.real, other.real, ulps) and alike(one.imag, other.imag, ulps)
    if one.dtype.kind in "biu":
        return bool((one == other).all())
    wide, also = one.astype("float64"), other.astype("float64")
    with np.errstate(all="ignore"):
        same = (wide == also) & (np.signbit(wide) == np.signbit(also)) | np.isnan(wide) & np.isnan(also)
        unit = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}[one.dtype.name]
        near = (
            (np.abs(wide - also) <= ulps * unit * np.abs(wide)) & (wide != also) & np.isfinite(wide) & np.isfinite(also)
        )
        # A result near 0 of numbers near 1, such as log(1), is as exact as those.
        near |= (np.abs(wide - also) <= ulps * unit * 2.0**-3) & (wide != also)
    return bool((same | (near if ulps else False)).all())
