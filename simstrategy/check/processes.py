"""Runs a program in real processes on this machine, one worker each, and collects their outcomes.

`simstrategy.launch` starts the processes and ends every one of them.
"""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from simstrategy.check.executed import script_of
from simstrategy.check.outcome import Outcome, Program, VariableKind
from simstrategy.check.programs import DEFAULT_FUNCTION
from simstrategy.device import available
from simstrategy.errors import InvalidArgument, PeerFailed
from simstrategy.launch import JobResult, Launcher
from simstrategy.short_repr import short_repr
from simstrategy.strategy import Semantics
from simstrategy.trace.events import read_events

__all__ = ["Location", "load_outcome", "location_of", "run_in_processes", "save_outcome"]

_IN_WORKER: Final = "SIMSTRATEGY_IN_WORKER"
_LINES: Final = 15


def run_in_processes(
    program: Program, backend: str, workers: int, semantics: Semantics, timeout_s: float, *, replicas: int = 1
) -> tuple[Outcome, ...]:
    """Runs `program` as `workers` processes of `replicas` each; returns their outcomes in worker order.

    The program must be a function at the top level of a file. timeout_s: in seconds. Raises InvalidArgument for another
    program, and PeerFailed with the end of a process's output where one died or time ran out. No process is left.
    """
    if os.environ.get(_IN_WORKER):
        raise InvalidArgument(
            "A worker of a check tried to start other workers, because its file does so when it is imported. "
            'Put the call of check under: if __name__ == "__main__":'
        )
    if not timeout_s > 0:
        raise InvalidArgument(f"A time limit is a number of seconds above 0, got {short_repr(timeout_s)}.")
    location = location_of(program)
    with Launcher(workers, preload=_modules(backend)) as launcher:
        target = str(launcher.folder / "outcome")
        ended = launcher.run(
            "simstrategy.check.worker:main",
            [*location, backend, semantics.name, replicas, target],
            timeout_s=timeout_s,
            environment={_IN_WORKER: "1"},
        )
        _require_success(ended, timeout_s)
        return tuple(load_outcome(Path(f"{target}{rank}")) for rank in range(workers))


def _modules(backend: str) -> Sequence[str]:
    """Returns the module of an installed backend, which every worker imports; nothing for `module:factory`."""
    if ":" in backend:
        return ()  # it may be in the program's folder, which only a worker searches
    found = available().get(backend)
    return () if found is None else (found.module,)


class Location(NamedTuple):
    """Where a program is, as `load_program` takes it in another process.  arguments: of a script."""

    file: str
    function: str
    arguments: tuple[str, ...] = ()


def location_of(program: Callable[..., Any]) -> Location:
    """Returns where a script is, or a function at the top level of a file.  Raises InvalidArgument for another one."""
    code = getattr(program, "__code__", None)
    name = getattr(program, "__qualname__", "")
    if code is None or not name.isidentifier() or not Path(code.co_filename).is_file():
        raise InvalidArgument(
            f"{short_repr(program)} cannot run in other processes. Define it as a function at the top level of a file."
        )
    script, file = script_of(program), str(Path(code.co_filename).resolve())
    return Location(file, name) if script is None else Location(file, DEFAULT_FUNCTION, script.arguments)


def _require_success(ended: Sequence[JobResult], timeout_s: float) -> None:
    """Raises PeerFailed for the first that failed, else for the first that did not end."""
    failed = sorted(
        (rank for rank, one in enumerate(ended) if not one.ok),
        key=lambda rank: (ended[rank].timed_out, ended[rank].seconds),
    )
    for rank in failed[:1]:
        one = ended[rank]
        how = f"was killed by signal {-one.code}" if one.code and one.code < 0 else f"ended with exit code {one.code}"
        if one.timed_out:
            how = f"did not end in {timeout_s:g} s and was killed"
        elif one.error is not None:
            how = f"raised {one.error[0]}"
        elif one.code == 0:
            how = "ended without a result"
        printed = one.output + (one.error[2] if one.error is not None else "")
        last = "\n".join(printed.strip().splitlines()[-_LINES:]) or "(it printed nothing)"
        raise PeerFailed(f"Worker {rank} of {len(ended)} {how}. The end of its output:\n{last}")


def save_outcome(outcome: Outcome, file: Path) -> None:
    """Writes an outcome as two files, plain arrays and JSON, which are read without executing anything."""
    arrays = {f"leaf{i}": _storable(array) for i, (_, array) in enumerate(outcome.leaves)}
    with open(file.with_suffix(".npz"), "wb") as stream:
        np.savez(stream, allow_pickle=False, **arrays)
    text = {
        "paths": [path for path, _ in outcome.leaves],
        "dtypes": [array.dtype.name for _, array in outcome.leaves],
        "error": outcome.error,
        "notes": outcome.notes,
        "not_finite": outcome.not_finite,
        "wrong_call": outcome.wrong_call,
        "structure": outcome.structure,
        "computed": outcome.computed,
        "written_alone": outcome.written_alone,
        "exempt": outcome.exempt,
        "variables": outcome.variables,
        "floats_put": outcome.floats_put,
        "seeds": outcome.seeds,
        "partly": outcome.partly,
        "events": [event.line() for event in outcome.events],
    }
    file.with_suffix(".json").write_text(json.dumps(text), encoding="utf-8")


def load_outcome(file: Path) -> Outcome:
    """Reads the files that `save_outcome` wrote."""
    text = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
    with np.load(file.with_suffix(".npz"), allow_pickle=False) as arrays:
        values = [_restored(arrays[f"leaf{i}"], dtype) for i, dtype in enumerate(text["dtypes"])]
    error = None if text["error"] is None else (text["error"][0], text["error"][1])
    events = tuple(read_events(text["events"], name=str(file), first_line=1))
    leaves = tuple(zip(text["paths"], values, strict=True))
    structure = tuple((path, description) for path, description in text["structure"])
    lists = tuple(text["computed"]), tuple(text["written_alone"])
    first = text["not_finite"], text["wrong_call"]
    exempt = tuple((path, reason) for path, reason in text["exempt"])
    partly = tuple((path, reason) for path, reason in text["partly"])
    kinds = tuple(VariableKind(*kind) for kind in text["variables"])
    notes, floats_put, seeds = tuple(text["notes"]), text["floats_put"], tuple(text["seeds"])
    return Outcome(leaves, error, events, notes, *first, structure, *lists, exempt, kinds, floats_put, seeds, partly)


def _storable(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return array.view(np.uint16) if array.dtype.name == "bfloat16" else array


def _restored(array: np.ndarray[Any, Any], dtype: str) -> np.ndarray[Any, Any]:
    if dtype != "bfloat16":
        return array
    import ml_dtypes  # noqa: PLC0415 - of the extra `bfloat16`, which only backends with such arrays need

    return array.view(ml_dtypes.bfloat16)
