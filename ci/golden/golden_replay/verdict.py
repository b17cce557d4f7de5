"""Whether an answer is the recorded one: value, dtype, shape and structure, to the bit; errors by class.

Any NaN equals any other. An error agrees if it is one of ours, of the class that stands for TensorFlow's
in the tables of `errors.py` (or of the built-in that its users catch), and its message has the same reason. There is
no exception here: deviations are listed elsewhere.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from golden_replay.cases import RecordedError
from simstrategy.errors import BROKEN_REFUSALS, TENSORFLOW_ERRORS, SimStrategyError

__all__ = ["Raised", "difference"]

_SAYS_AS_MUCH: Final = (
    ("Invalid reduction dimension", "Invalid reduction dimension"),
    ("must have the same size and shape", "cannot be added"),
    ("non-DistributedValues value", "non-DistributedValues value"),
    ("must specify an aggregation method", "must specify an aggregation method"),
    ("Could not convert from", "Could not convert from"),
    ("does not support `assign_add`", "does not support `assign_add`"),
    ("does not support `assign_sub`", "does not support `assign_sub`"),
    ("variable synchronization mode is not supported", "variable synchronization mode is not supported"),
    ("with aggregation=MEAN and a non-floating dtype", "aggregation MEAN needs a floating dtype"),
    ("Tensor conversion requested dtype", "never changes its dtype"),
    ("cannot compute Mul as input", "cannot be shared out"),
    ("of bool is not in the list", "bool"),
    ("DataType bool not in list", "bool"),
    ("kernels registered for op AddN", "bool"),
    ("kernels registered for op Sum", "bool"),
    ('(not "NoneType") to str', "variable synchronization mode is not supported"),
)
"""What TensorFlow's messages say, and how ours say it: the right class for a wrong reason is no agreement."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Raised:
    """An exception in the place of an answer."""

    error: Exception


def difference(recorded: Any, ours: Any, where: str = "answer") -> str | None:
    """Returns the first difference in words, or None where the answers agree."""
    if isinstance(recorded, RecordedError) or isinstance(ours, Raised):
        problem = _of_errors(recorded, ours)
    elif isinstance(recorded, np.ndarray) or isinstance(ours, np.ndarray):
        problem = None if _same_array(recorded, ours) else _beside(recorded, ours)
    elif type(recorded) is not type(ours):
        problem = _beside(recorded, ours)
    elif isinstance(recorded, dict):
        if recorded.keys() == ours.keys():
            return _first((f"{where}[{key!r}]", value, ours[key]) for key, value in recorded.items())
        problem = f"has {sorted(ours)}, recorded {sorted(recorded)}"
    elif isinstance(recorded, list):
        if len(recorded) == len(ours):
            return _first((f"{where}[{i}]", *both) for i, both in enumerate(zip(recorded, ours, strict=True)))
        problem = f"{len(ours)} entries, recorded {len(recorded)}"
    else:
        problem = None if recorded == ours else _beside(recorded, ours)
    return None if problem is None else f"{where}: {problem}"


def _first(pairs: Iterable[tuple[str, Any, Any]]) -> str | None:
    return next((found for place, one, two in pairs if (found := difference(one, two, place))), None)


def _of_errors(recorded: Any, ours: Any) -> str | None:
    if not isinstance(recorded, RecordedError) or not isinstance(ours, Raised):
        return _beside(recorded, ours)
    problem = _unlike(recorded, ours.error)
    return None if problem is None else f"raised {_text(ours)}, {problem}; recorded {_text(recorded)}"


def _unlike(recorded: RecordedError, error: Exception) -> str | None:
    """Returns why an error of ours is not the one that stands for the recorded one."""
    if isinstance(error, NotImplementedError):
        return "which says that this is not implemented"
    if not isinstance(error, SimStrategyError):
        return "which is none of simstrategy's errors"
    refusals = (ours for name, text, ours in BROKEN_REFUSALS if name == recorded.name and text in recorded.message)
    wanted = next(refusals, TENSORFLOW_ERRORS.get(recorded.name))
    if wanted is None:
        return f"and no class of ours stands for {recorded.name}"
    built_ins = tuple(base for base in wanted.__bases__ if base is not SimStrategyError)
    if not isinstance(error, (wanted, *built_ins)):
        return f"which is no {wanted.__name__}"
    missing = [said for text, said in _SAYS_AS_MUCH if text in recorded.message and said not in str(error)]
    return f"which does not say {missing[0]!r}" if missing else None


def _same_array(recorded: Any, ours: Any) -> bool:
    if not isinstance(recorded, np.ndarray) or not isinstance(ours, np.ndarray):
        return False
    return (recorded.dtype, recorded.shape) == (ours.dtype, ours.shape) and _same_bits(recorded, ours)


def _same_bits(one: np.ndarray[Any, Any], two: np.ndarray[Any, Any]) -> bool:
    first, second = (np.ascontiguousarray(array).reshape(-1) for array in (one, two))
    if first.dtype.kind == "c":
        part = np.dtype(f"f{first.dtype.itemsize // 2}")
        first, second = first.view(part), second.view(part)
    if first.tobytes() == second.tobytes():
        return True
    if first.dtype.kind != "f":
        return False
    numbers = ~np.isnan(first)
    same_places = np.array_equal(numbers, ~np.isnan(second))
    return same_places and first[numbers].tobytes() == second[numbers].tobytes()


def _beside(recorded: Any, ours: Any) -> str:
    return f"{_text(ours)}, recorded {_text(recorded)}"


def _text(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)} {_short(str(value.reshape(-1).tolist()))}"
    if isinstance(value, RecordedError):
        return f"{value.name} ({_short(value.message)})"
    if isinstance(value, Raised):
        return f"{type(value.error).__name__} ({_short(str(value.error))})"
    return _short(repr(value))


def _short(text: str, length: int = 160) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
