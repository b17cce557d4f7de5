"""Recorded cases: one JSON object a line, read and decoded.

Damaged lines are reported with file and line, and never repaired. It compares no answers.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NoReturn, final

import numpy as np

from simstrategy.errors import InvalidArgument

__all__ = ["FORMS", "Case", "RecordedError", "decoded", "read_cases"]

_DTYPES: Final = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
_SPECIAL: Final = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_OPS: Final = ("SUM", "MEAN")
_LEAVES: Final = ("rid", "const", "none", "shared", "vec", "pystr", "pyint", "pyrid")
_STEP: Final = {"where": ("cross", "replica"), "op": ("read", "assign", "assign_add", "assign_sub")}

_ITERATOR: Final[tuple[dict[str, Any], frozenset[str]]] = (
    {"replicas": int, "total": int, "batch": int, "drop_remainder": bool, "run": bool},
    frozenset({"steps", "end"}),
)

FORMS: Final[dict[str, tuple[dict[str, Any], frozenset[str]]]] = {
    "split": (
        {
            "replicas": int,
            "total": int,
            "batch": int,
            "drop_remainder": bool,
            "structure": ("array", "tuple", "dict", "nested"),
            "repeat": int,
        },
        frozenset({"steps"}),
    ),
    "reduce": ({"replicas": int, "op": _OPS, "axis": int | list | None, "values": list}, frozenset({"value"})),
    "all_reduce": (
        {"replicas": int, "op": _OPS, "values": list, "structure": ("single", "list", "tuple", "dict")},
        frozenset({"values"}),
    ),
    "run": ({"replicas": int, "returns": str | dict}, frozenset({"returns"})),
    "variable": (
        {
            "replicas": int,
            "sync": ("AUTO", "NONE", "ON_WRITE", "ON_READ"),
            "agg": ("NONE", "SUM", "MEAN", "ONLY_FIRST_REPLICA"),
            "dtype": _DTYPES,
            "init": np.ndarray,
            "program": list,
        },
        frozenset({"class", "log", "components"}),
    ),
    "convert": (
        {
            "replicas": int,
            "place": ("asarray", "variable", "assign", "slices", "all_reduce"),
            "value": str,
            "dtype": ("", *_DTYPES),
        },
        frozenset({"value"}),
    ),
    "input_context": (
        {"replicas": int, "pipelines": int, "pipeline_id": int, "batch": int},
        frozenset({"per_replica"}),
    ),
    "autoshard": (
        {
            "workers": int,
            "replicas_per_worker": int,
            "source": ("range", "files", "flat_map", "interleave"),
            "batch": int,
            "drop_remainder": bool,
            "policy": ("OFF", "AUTO", "FILE", "DATA"),
            "repeat": int,
        },
        frozenset({"streams"}),
    ),
    **dict.fromkeys(("make_dataset_iterator", "make_input_fn_iterator"), _ITERATOR),
}
"""Each kind's fields, with their types or the texts they may be, and what its answer has."""


@final
@dataclass(frozen=True, slots=True)
class RecordedError:
    """An error that TensorFlow raised."""

    name: str
    message: str


@final
@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One case. In `body` and `answers` arrays are NumPy's, and errors are `RecordedError`.

    answers: by release of TensorFlow; a release that does not have what a case asks for has no answer. The
    streams of `autoshard` are padded with empty parts to whole steps of the longest, as an iteration shows them.
    place: file and line.
    """

    id: str
    kind: str
    body: Mapping[str, Any]
    answers: Mapping[str, Any]
    place: str

    def __post_init__(self) -> None:
        if self.kind not in FORMS:
            _damaged(self.place, f"kind {self.kind!r} is none of {', '.join(sorted(FORMS))}")
        _check_body(self.body, FORMS[self.kind][0], self.place)
        _check_values(self.kind, self.body, self.place)
        for release, answer in self.answers.items():
            whole = isinstance(answer, dict) and answer.keys() == FORMS[self.kind][1]
            if not whole and not isinstance(answer, RecordedError):
                _damaged(self.place, f"the answer of {release} is no answer of kind {self.kind}: {answer!r:.80}")

    @property
    def replicas(self) -> int:
        """How many replicas a strategy has to have that is asked, in each worker."""
        count: int = self.body["replicas_per_worker" if self.kind == "autoshard" else "replicas"]
        return count


def read_cases(file: str | Path) -> tuple[Case, ...]:
    """Returns a file's cases in order. Raises InvalidArgument, with file and line, for damaged ones."""
    path = Path(file)
    if not path.is_file():
        raise InvalidArgument(f"There is no file {file}. Give a file of recorded cases, one JSON object a line.")
    lines = path.read_bytes().split(b"\n")
    cases = tuple(_case(line, f"{path}:{number}") for number, line in enumerate(lines, 1) if line.strip())
    if not cases:
        _damaged(f"{path}:1", "there is no case")
    places: dict[str, str] = {}
    for case in cases:
        if case.id in places:
            _damaged(case.place, f"id {case.id!r} was at {places[case.id]} already")
        places[case.id] = case.place
    return cases


def _case(line: bytes, place: str) -> Case:
    try:
        found = json.loads(line.decode("utf-8"), parse_constant=lambda word: _damaged(place, f"{word} is no JSON"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        _damaged(place, f"no JSON: {error}")
    if not isinstance(found, dict) or set(found) != {"case", "answers"}:
        _damaged(place, "not an object of `case` and `answers`")
    body, answers = found["case"], found["answers"]
    if not isinstance(body, dict) or not all(isinstance(body.get(name), str) for name in ("id", "kind")):
        _damaged(place, "the case has no id or no kind")
    if not isinstance(answers, dict) or not answers or not all(isinstance(one, dict) for one in answers.values()):
        _damaged(place, "there are no answers by release")
    asked = {release: one for release, one in decoded(answers, place).items() if not _unasked(one)}
    case = Case(body["id"], body["kind"], decoded(body, place), asked, place)
    if case.kind != "autoshard":
        return case
    return replace(case, answers={release: _padded(one, case, place) for release, one in asked.items()})


def _unasked(answer: Any) -> bool:
    """Tells whether the recorder could not put the case to this release."""
    return isinstance(answer, RecordedError) and answer.message.startswith("unsupported in ")


def _padded(answer: Any, case: Case, place: str) -> Any:
    if isinstance(answer, RecordedError):
        return answer
    streams, replicas = answer["streams"], case.replicas
    if not isinstance(streams, list) or len(streams) != case.body["workers"]:
        _damaged(place, f"there is not one stream for each of {case.body['workers']} workers")
    steps = max(-(-len(stream) // replicas) for stream in streams)
    return {"streams": [[*stream, *([[]] * (steps * replicas - len(stream)))] for stream in streams]}


def _damaged(place: str, what: str) -> NoReturn:
    raise InvalidArgument(f"{place}: {what}. The file is damaged or of another format: get it anew.")


def decoded(value: Any, place: str) -> Any:
    """Returns a recorded value with NumPy arrays and errors in place of their descriptions."""
    if isinstance(value, list):
        return [decoded(item, place) for item in value]
    if not isinstance(value, dict):
        return value
    if "data" in value or {"dtype", "shape"} <= set(value):
        return _array(value, place)
    if "error" in value:
        if set(value) != {"error", "message"} or not all(isinstance(text, str) for text in value.values()):
            _damaged(place, "an error is not an object of the texts `error` and `message`")
        return RecordedError(value["error"], value["message"])
    return {key: decoded(item, place) for key, item in value.items()}


def _array(value: dict[str, Any], place: str) -> np.ndarray[Any, Any]:
    if set(value) != {"dtype", "shape", "data"} or value["dtype"] not in _DTYPES:
        _damaged(place, f"an array has {sorted(value)} and dtype {value.get('dtype')!r}")
    dtype = np.dtype(value["dtype"])
    try:
        data = np.asarray([_number(item, dtype.kind) for item in value["data"]], dtype)
        return data.reshape([_size(size) for size in value["shape"]])
    except (TypeError, ValueError, OverflowError) as error:
        _damaged(place, f"an array of {dtype} and shape {value['shape']!r}: {error}")


def _number(item: Any, kind: str) -> Any:
    if kind == "c":
        real, imaginary = item
        return complex(_number(real, "f"), _number(imaginary, "f"))
    allowed: Any = {"b": (bool,), "f": (int, float)}.get(kind, (int,))
    if isinstance(item, str) and kind == "f" and item in _SPECIAL:
        return _SPECIAL[item]
    if not isinstance(item, allowed) or isinstance(item, bool) != (kind == "b"):
        raise ValueError(f"{item!r} is none of its numbers")
    return item


def _size(size: Any) -> int:
    if type(size) is not int or size < 0:
        raise ValueError(f"{size!r} is no size")
    return size


def _check_body(body: Mapping[str, Any], form: Mapping[str, Any], place: str) -> None:
    for name, wanted in form.items():
        if name not in body:
            _damaged(place, f"the case has no {name!r}")
        value = body[name]
        if isinstance(wanted, tuple):
            fits = isinstance(value, str) and value in wanted
        else:
            fits = isinstance(value, wanted) and isinstance(value, bool) == (wanted is bool)
        if not fits:
            _damaged(place, f"{name!r} cannot be {value!r}")
    for name in ("replicas", "replicas_per_worker", "workers"):
        if body.get(name, 1) < 1:
            _damaged(place, f"{name!r} cannot be {body[name]!r}")


def _check_values(kind: str, body: Mapping[str, Any], place: str) -> None:
    """Checks what lies deeper than a field: arrays, one per replica, and nests."""
    replicas = body.get("replicas", 1)
    if kind == "autoshard":
        name, wanted = ("total", int) if body["source"] == "range" else ("files", list)
        _check_body(body, {name: wanted}, place)
        if not all(type(lines) is int and lines >= 0 for lines in body.get("files", [])):
            _damaged(place, f"'files' cannot be {body['files']!r}")
    elif kind == "reduce":
        _check_arrays(body["values"], (replicas,), place)
    elif kind == "all_reduce":
        if not body["values"] or (body["structure"] == "single" and len(body["values"]) > 1):
            _damaged(place, f"{len(body['values'])} leaves in structure {body['structure']!r}")
        for column in body["values"]:
            _check_arrays(column, (replicas,), place)
    elif kind == "run":
        _check_nest(body["returns"], place)
    elif kind == "variable":
        for step in body["program"]:
            _check_step(step, replicas, place)


def _check_step(step: Any, replicas: int, place: str) -> None:
    if not isinstance(step, dict):
        _damaged(place, f"a step of the program cannot be {step!r}")
    _check_body({"replicas": replicas, **step}, _STEP, place)
    if step["op"] != "read":
        _check_arrays(step.get("value"), (1, replicas) if step["where"] == "replica" else (1,), place)


def _check_arrays(column: Any, lengths: tuple[int, ...], place: str) -> None:
    arrays = isinstance(column, list) and all(isinstance(one, np.ndarray) for one in column)
    if not arrays or len(column) not in lengths:
        _damaged(place, f"values that are not one array for each of {lengths[-1]} replicas")


def _check_nest(form: Any, place: str) -> None:
    """Checks what a replica function returns: a leaf by name, or a container `t` of its items `c`."""
    if isinstance(form, dict) and set(form) == {"t", "c"} and form["t"] in ("list", "tuple", "dict"):
        items = form["c"]
        if isinstance(items, dict if form["t"] == "dict" else list):
            for item in items.values() if isinstance(items, dict) else items:
                _check_nest(item, place)
            return
    if form not in _LEAVES:
        _damaged(place, f"a replica function cannot return {form!r}")
