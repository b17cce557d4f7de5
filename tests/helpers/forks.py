"""Runs commands in processes that are forked: what they import is imported once, and not for each command.

A command is a process of its own, with its output in files, and it starts its ranks as it always does. Its forkserver
is forked too. Left to tests that start the real command: how it is installed, and what it leaves behind, for here all
processes below a command are ended with it.
"""

import contextlib
import functools
import os
import signal
import subprocess
import sys
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from simstrategy.launch import forkserver, server
from simstrategy.launch.channel import Channel, Closed

_IMPORTED = (
    *("forks", "torch._dynamo", "simstrategy.check.scripts"),
    *("simstrategy_torch_distributed.__main__", "simstrategy_torch_distributed.rank"),
    "simstrategy_torch_distributed.stored",
)


def torchrun(
    arguments: Sequence[str], folder: Path, limit_s: float, settings: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs `simstrategy torchrun` with these arguments; returns its exit code and what it has printed.

    settings: variables of the environment. Raises subprocess.TimeoutExpired when it has not ended within `limit_s`, and
    then nothing of it is left.
    """
    worker = _server().start("forks:serve")
    out, err = (Path(f"{worker.output}.{name}") for name in ("out", "err"))
    environment = {**os.environ, **(settings or {})}
    worker.channel.send({"arguments": [*arguments], "folder": str(folder), "environment": environment})
    try:
        code, _ = worker.channel.receive(within_s=limit_s)
    except TimeoutError:
        _server().end(worker)
        raise subprocess.TimeoutExpired([*arguments], limit_s, _text(out), _text(err)) from None
    except Closed:
        code = None
    ended = _server().end(worker)
    return subprocess.CompletedProcess([*arguments], ended if code is None else code, _text(out), _text(err))


def _text(file: Path) -> str:
    return file.read_text(errors="replace") if file.exists() else ""


@functools.cache
def _server() -> server.Server:
    """The process of which commands are forked; it ends with this one."""
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    with mock.patch.dict(os.environ, PYTHONPATH=path):
        found = server.Server(_IMPORTED)
    assert found.folder.is_dir()
    assert found.problem is None, found.problem
    return found


def serve(jobs: Channel, output: Path) -> int:
    """Runs one command in this process, and sends its exit code."""
    from simstrategy_torch_distributed.__main__ import app

    job, _ = jobs.receive()
    os.environ.clear()
    os.environ.update(job["environment"])
    sys.path[:0] = [one for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one and one not in sys.path]
    os.chdir(job["folder"])
    for stream, name in ((sys.stdout, "out"), (sys.stderr, "err")):
        file = os.open(f"{output}.{name}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(file, stream.fileno())
        os.close(file)
    server.subprocess = types.SimpleNamespace(**{**vars(subprocess), "Popen": _Forked})
    code = _code_of(app, job["arguments"])
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    jobs.send(code)
    return code


def _code_of(app: Any, arguments: list[str]) -> int:
    try:
        app(args=arguments, prog_name="simstrategy torchrun")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0


class _Forked:
    """A forkserver that was forked: what `simstrategy.launch.server` needs of subprocess.Popen."""

    def __init__(self, command: Sequence[str], *, pass_fds: Sequence[int], **_: Any) -> None:
        number = command.index("simstrategy.launch.forkserver") + 1
        sys.stdout.flush()
        self.pid = os.fork()
        if not self.pid:
            _serve_forks(pass_fds[0], [*command[number + 1 :]])

    def wait(self, timeout: float | None = None) -> int:
        """Waits for the end; the channel is closed by then, so it comes."""
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)


def _serve_forks(number: int, modules: list[str]) -> None:
    try:
        os.setsid()
        for one in map(int, os.listdir("/proc/self/fd")):
            if one not in (0, 1, 2, number):
                with contextlib.suppress(OSError):  # the folder's own
                    os.close(one)
        forkserver.main(number, modules)
    finally:
        os._exit(0)
