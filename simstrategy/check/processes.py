"""Runs a program in real processes on this machine, one worker each, and collects what they came to.

For checks, tests and teaching: no scheduler, no other machines. Everything listens on 127.0.0.1.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from simstrategy.check.outcome import Outcome, Program
from simstrategy.errors import InvalidArgument, PeerFailed
from simstrategy.strategy import Semantics
from simstrategy.trace.events import read_events

__all__ = ["load_outcome", "run_in_processes", "save_outcome"]

_IN_WORKER: Final = "SIMSTRATEGY_IN_WORKER"
_POLL_S: Final = 0.05
_GRACE_S: Final = 10.0
"""How long the other processes get to end by themselves once one has failed."""


def run_in_processes(
    program: Program, backend: str, workers: int, semantics: Semantics, timeout_s: float, *, replicas: int = 1
) -> tuple[Outcome, ...]:
    """Runs `program` as `workers` processes of `replicas` each; returns their outcomes in worker order.

    The program has to be a function at the top level of a file. Raises InvalidArgument where it is not,
    and PeerFailed with the end of a process's output where one died or time ran out; no process is left.
    """
    if os.environ.get(_IN_WORKER):
        raise InvalidArgument(
            "A worker of a check was about to start workers of its own, because its file does so when it is imported. "
            'Put what starts a check under: if __name__ == "__main__":'
        )
    if not timeout_s > 0:
        raise InvalidArgument(f"A time limit is a number of seconds above 0, got {timeout_s!r}.")
    file, function = _location(program)
    with tempfile.TemporaryDirectory(prefix="simstrategy-") as folder:
        job = [file, function, backend, semantics.name, str(replicas)]
        port = _free_port()
        processes: list[subprocess.Popen[bytes]] = []
        try:
            for rank in range(workers):
                # One by one, so that those already started are ended if the next cannot be.
                processes.append(_start(job, rank, workers, Path(folder), port))  # noqa: PERF401
            codes = _wait(processes, timeout_s)
        finally:
            _kill(processes)
        _require_success(codes, workers, Path(folder), timeout_s)
        return tuple(load_outcome(Path(folder) / f"outcome{rank}") for rank in range(workers))


def _location(program: Program) -> tuple[str, str]:
    code = getattr(program, "__code__", None)
    name = getattr(program, "__qualname__", "")
    if code is None or not name.isidentifier() or not Path(code.co_filename).is_file():
        raise InvalidArgument(
            f"{program!r} cannot be started in other processes: it has to be a function at the top level of a file."
        )
    return str(Path(code.co_filename).resolve()), name


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _start(job: list[str], rank: int, workers: int, folder: Path, port: int) -> "subprocess.Popen[bytes]":
    environment = dict(os.environ)
    environment |= {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(workers),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        _IN_WORKER: "1",
        # One process per core is the point here, not one thread pool per process.
        "OMP_NUM_THREADS": environment.get("OMP_NUM_THREADS", "1"),
    }
    with open(folder / f"output{rank}", "wb") as output:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "simstrategy.check.worker", *job, str(folder / f"outcome{rank}")],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )


def _wait(processes: Sequence["subprocess.Popen[bytes]"], timeout_s: float) -> dict[int, int]:
    """Waits for all, in the order in which they end; once one has failed, the others get a short time only.

    Returns exit codes by rank, the first to end first; a process that did not end has none.
    """
    deadline = time.monotonic() + timeout_s
    codes: dict[int, int] = {}
    while len(codes) < len(processes) and time.monotonic() < deadline:
        for rank, process in enumerate(processes):
            if rank not in codes and (code := process.poll()) is not None:
                codes[rank] = code
                if code:
                    deadline = min(deadline, time.monotonic() + _GRACE_S)
        time.sleep(_POLL_S)
    return codes


def _kill(processes: Sequence["subprocess.Popen[bytes]"]) -> None:
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.wait()


def _require_success(codes: dict[int, int], workers: int, folder: Path, timeout_s: float) -> None:
    """Raises PeerFailed for the first that failed, else for the first that did not end."""
    failed = [rank for rank, code in codes.items() if code or not (folder / f"outcome{rank}.json").exists()]
    late = [rank for rank in range(workers) if rank not in codes]
    for rank in (*failed, *late):
        code = codes.get(rank)
        how = f"ended with exit code {code}" if code else "ended without a result"
        if code is None:
            how = f"did not end in {timeout_s:g} s and was killed"
        elif code < 0:
            how = f"was killed by signal {-code}"
        output = (folder / f"output{rank}").read_text(encoding="utf-8", errors="replace").strip()
        last = "\n".join(output.splitlines()[-15:]) or "(it printed nothing)"
        raise PeerFailed(f"Worker {rank} of {workers} {how}. The end of its output:\n{last}")


def save_outcome(outcome: Outcome, file: Path) -> None:
    """Writes an outcome as two files, plain arrays and JSON; nothing in them is ever executed."""
    arrays = {f"leaf{i}": _storable(array) for i, (_, array) in enumerate(outcome.leaves)}
    with open(file.with_suffix(".npz"), "wb") as stream:
        np.savez(stream, allow_pickle=False, **arrays)
    text = {
        "paths": [path for path, _ in outcome.leaves],
        "dtypes": [array.dtype.name for _, array in outcome.leaves],
        "error": outcome.error,
        "notes": outcome.notes,
        "events": [event.line() for event in outcome.events],
    }
    file.with_suffix(".json").write_text(json.dumps(text), encoding="utf-8")


def load_outcome(file: Path) -> Outcome:
    """Reads what `save_outcome` wrote."""
    text = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
    with np.load(file.with_suffix(".npz"), allow_pickle=False) as arrays:
        values = [_restored(arrays[f"leaf{i}"], dtype) for i, dtype in enumerate(text["dtypes"])]
    error = None if text["error"] is None else (text["error"][0], text["error"][1])
    events = tuple(read_events(text["events"], name=str(file), first_line=1))
    return Outcome(tuple(zip(text["paths"], values, strict=True)), error, events, tuple(text["notes"]))


def _storable(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return array.view(np.uint16) if array.dtype.name == "bfloat16" else array


def _restored(array: np.ndarray[Any, Any], dtype: str) -> np.ndarray[Any, Any]:
    if dtype != "bfloat16":
        return array
    import ml_dtypes  # noqa: PLC0415 - the extra `bfloat16`: only a backend that has such arrays gets here

    return array.view(ml_dtypes.bfloat16)
