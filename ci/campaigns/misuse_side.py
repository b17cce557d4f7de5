"""Runs a program of misuses on the sides of one worker process, and keeps what became of it.  Compares nothing.

A job of `simstrategy.launch`: its arguments and its result are JSON values.
"""

import base64
import contextvars
import faulthandler
import os
import sys
import traceback
import warnings
from contextlib import closing
from typing import Any

import ml_dtypes  # noqa: F401 - so that NumPy reads "bfloat16"
import numpy as np

import simstrategy as ss
from simstrategy.device import open_backend
from simstrategy.strategy import PROFILES, group_of
from simstrategy_conformance.oracle import Each

__all__ = ["job", "values"]

REPLICAS = 2
FILE = "program.py"
WAIT_LIMIT_S = 3.0
"""Long enough for what programs wait for on purpose, and below the limit of a hang."""
_RECURSION_LIMIT = sys.getrecursionlimit()
_opened: dict[str, Any] = {}


def job(text: str, form: list[Any], sides: list[str], limit_s: float) -> dict[str, Any]:
    """Returns for each side what became of the program, one entry for each worker of that side."""
    faulthandler.dump_traceback_later(limit_s, file=sys.stderr)
    try:
        return {side: _seen(side, text, form) for side in sides}
    finally:
        faulthandler.cancel_dump_traceback_later()


def _seen(side: str, text: str, form: list[Any]) -> dict[str, Any]:
    """Returns what each worker kept, and the warnings: tasks take turns, so they are caught for all of them."""
    sys.setrecursionlimit(_RECURSION_LIMIT)  # replicas that set it in turns leave another one behind
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        workers = contextvars.copy_context().run(_SIDES.get(side, _mirrored), text, form, side)
    ours = [str(one.message) for one in caught if isinstance(one.message, ss.errors.SimStrategyWarning)]
    return {"workers": workers, "warnings": ours}


def _settings(form: list[Any], trace: Any) -> dict[str, Any]:
    semantics, strict, seed = form
    schedule = ss.schedules.InOrder() if seed is None else ss.schedules.Seeded(seed)
    checks = "strict" if strict else True
    made = {"semantics": PROFILES[semantics], "checks": checks, "schedule": schedule, "trace": trace}
    return {**made, "wait_limit_s": WAIT_LIMIT_S}


def _program(text: str) -> Any:
    """Executes the program's file; returns its function."""
    names: dict[str, Any] = {"__name__": "program"}
    exec(compile(text, FILE, "exec"), names)
    return names["program"]


def _mirrored(text: str, form: list[Any], side: str) -> list[Any]:
    name, _, executor = side.partition(" ")
    if name not in _opened:
        # As NumPy and the others have it, else every other number is refused.
        options = {"x64": True} if name == "xla" else {}
        _opened[name] = open_backend(name, replicas=REPLICAS, **options)
    trace = ss.trace.Trace(root="")
    settings = _settings(form, trace)
    settings |= {"executor": "thread"} if executor == "threads" else {}
    strategy = ss.Strategy.mirrored(_opened[name], **settings)
    try:
        return [_observed(text, strategy, _opened[name], trace)]
    finally:
        strategy.close()


def _cluster(text: str, form: list[Any], side: str) -> list[Any]:
    trace = ss.trace.Trace(root="")
    cluster = ss.sim.Cluster(REPLICAS, 1, **_settings(form, trace))

    kept: dict[int, Any] = {}

    def main(strategy: Any) -> None:
        group = group_of(strategy)
        _observed(text, strategy, group.settings.backend, trace, worker=group.coordinator.worker, kept=kept)

    try:
        cluster.outcomes(main)
    except BaseException as error:  # noqa: BLE001 - what the cluster itself raises is an outcome, and a defect
        kept[0] = {**_nothing(trace, 0), "error": _error(error)}
    return [kept.get(rank, _nothing(trace, rank)) for rank in range(REPLICAS)]


def _nothing(trace: Any, worker: int) -> dict[str, Any]:
    """Returns what is kept of a worker before anything has happened."""
    events = [one.line() for one in trace.events() if one.worker == worker]
    return {"found": {"dict": []}, "result": {"text": ""}, "error": None, "events": events}


def _gloo(text: str, form: list[Any], side: str) -> list[Any]:
    trace = ss.trace.Trace(root="")
    with closing(open_backend("gloo", replicas=1, timeout_s=8.0)) as backend:
        strategy = ss.Strategy.multi_worker(backend, **_settings(form, trace))
        kept: dict[int, Any] = {}
        with closing(strategy):
            rank, coordinator = int(os.environ["RANK"]), group_of(strategy).coordinator
            try:
                _observed(text, strategy, backend, trace, worker=rank, kept=kept)
            except Exception as error:  # noqa: BLE001 - kept already; the others are notified of it
                coordinator.disconnect(error)
            else:
                coordinator.disconnect()
    return [*kept.values()]


_SIDES = {"cluster": _cluster, "gloo": _gloo}


def _observed(text, strategy, backend, trace, *, worker=0, kept=None):
    """Returns what was observed as JSON. kept: of several workers; there it is kept, and an error is raised."""
    found: dict[Any, Any] = {}
    result = error = None
    try:
        result = _program(text)(strategy, found)
    except BaseException as raised:  # noqa: BLE001 - what a program ends with is what is compared, SystemExit too
        error = raised
    outs = [[str(rank), _json(out, backend)] for rank, out in found.items() if isinstance(rank, int)]
    outcome = {
        **_nothing(trace, worker),
        "found": {"dict": outs},
        "result": _json(result, backend),
        "error": None if error is None else _error(error),
    }
    if kept is not None:
        kept[worker] = outcome
        if error is not None:
            raise error if isinstance(error, Exception) else RuntimeError(f"{type(error).__name__}: {error}")
    return outcome


def _error(error: BaseException) -> list[Any]:
    """Returns class, text, notes and origin: "ours" for a class of simstrategy, else "program" or "elsewhere"."""
    frames = traceback.extract_tb(error.__traceback__)
    origin = "program" if frames and frames[-1].filename == FILE else "elsewhere"
    if isinstance(error, ss.errors.SimStrategyError):
        origin = "ours"
    try:
        text = str(error)
    except Exception as own:  # noqa: BLE001 - of a class of the program
        text = f"str() raises {type(own).__name__}"
    return [type(error).__name__, text, list(vars(error).get("__notes__", ())), origin]


def _json(value: Any, backend: Any) -> Any:
    """Writes a nest as JSON, with the numbers of arrays and variables; `values` reads it."""
    if isinstance(value, backend.array_types):
        value = backend.get(value)
    if isinstance(value, (np.ndarray, np.generic)):
        return _numbers(np.asarray(value))
    if isinstance(value, (ss.PerReplica, ss.Mirrored)):
        return {"each": [_json(one, backend) for one in value.values]}
    if isinstance(value, dict):
        return {"dict": [[repr(key), _json(item, backend)] for key, item in value.items()]}
    if isinstance(value, (list, tuple)):
        return {"list" if isinstance(value, list) else "tuple": [_json(one, backend) for one in value]}
    is_plain = value is None or isinstance(value, (bool, int, float, complex, str, bytes))
    return {"text": f"{type(value).__name__} {value!r}" if is_plain else "an object"}


def _numbers(array: Any) -> dict[str, Any]:
    if array.dtype.kind in "biufc" or array.dtype.name == "bfloat16":
        return {"array": [array.dtype.name, list(array.shape), base64.b64encode(array.tobytes()).decode()]}
    # Objects of Python are compared by nothing but their number.
    return {"text": f"{array.dtype} {array.tolist()!r}" if array.dtype.kind != "O" else f"objects {array.shape}"}


def values(kept: Any) -> Any:
    """Reads what `_json` wrote."""
    ((kind, found),) = kept.items()
    if kind == "array":
        dtype, shape, data = found
        return np.frombuffer(base64.b64decode(data), np.dtype(dtype)).reshape(shape)
    if kind == "each":
        return Each(tuple(values(one) for one in found))
    if kind == "dict":
        return {key: values(item) for key, item in found}
    if kind in ("list", "tuple"):
        return [values(one) for one in found] if kind == "list" else tuple(values(one) for one in found)
    return found
