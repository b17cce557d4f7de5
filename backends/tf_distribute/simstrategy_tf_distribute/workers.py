"""Runs a program under MultiWorkerMirroredStrategy in several processes of this machine.

For tests and teaching. It does not start processes on other machines.
"""

import json
import os
import pickle
import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from simstrategy.errors import InvalidArgument, PeerFailed
from simstrategy.short_repr import short_repr

__all__ = ["run_workers"]


def run_workers(
    file: str | Path, *, workers: int = 2, function: str = "program", timeout_s: float = 120.0
) -> list[Any]:
    """Runs `function(strategy)` of a Python file in `workers` processes with one replica each; returns their results.

    Results are nests of NumPy arrays and plain values. timeout_s: the limit for each worker, in seconds. Raises
    InvalidArgument for a file that does not exist and for less than one worker; and PeerFailed with the output of the
    first worker that fails, or with the number of the first one that has not ended after timeout_s.
    """
    path = Path(file).resolve()
    if not path.is_file():
        raise InvalidArgument(f"run_workers takes a Python file, and there is none at {path}. Correct the path.")
    if not isinstance(workers, int) or isinstance(workers, bool) or workers < 1:
        raise InvalidArgument(
            f"run_workers takes a number of workers of at least 1, got {short_repr(workers)}. Pass for example "
            f"workers=2."
        )
    addresses = [f"localhost:{port}" for port in _free_ports(workers)]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        processes = []
        for index in range(workers):
            cluster = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
            errors = stack.enter_context((Path(folder) / f"{index}.txt").open("w+b"))
            command = [sys.executable, "-m", "simstrategy_tf_distribute.worker", str(path), function, folder]
            processes.append(
                (
                    subprocess.Popen(
                        command,
                        env={**os.environ, "TF_CONFIG": json.dumps(cluster), "TF_CPP_MIN_LOG_LEVEL": "3"},
                        stdout=errors,
                        stderr=errors,
                    ),
                    errors,
                )
            )
        _wait(processes, timeout_s)
        return [pickle.loads((Path(folder) / f"{index}.pickle").read_bytes()) for index in range(workers)]  # noqa: S301


def _wait(processes: list[tuple[Any, Any]], timeout_s: float) -> None:
    try:
        for index, (process, errors) in enumerate(processes):
            try:
                code = process.wait(timeout_s)
            except subprocess.TimeoutExpired as error:
                raise PeerFailed(
                    f"Worker {index} had not ended after {timeout_s:g} s. Pass a larger timeout_s."
                ) from error
            if code:
                errors.seek(0)
                lines = errors.read().decode(errors="replace").strip().splitlines()
                raise PeerFailed(f"Worker {index} ended with code {code}:\n" + "\n".join(lines[-12:]))
    finally:
        for process, _ in processes:
            if process.poll() is None:
                process.kill()
            process.wait()


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("localhost", 0))
        return [one.getsockname()[1] for one in sockets]
