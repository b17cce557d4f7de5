"""The forkserver, as the process that started it uses it: it starts and ends workers, and ends with this process."""

import os
import shutil
import subprocess
import sys
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple, final

from simstrategy.errors import BackendUnavailable
from simstrategy.launch.channel import Channel, Closed, pair

__all__ = ["Server", "Worker"]

_ANSWER_S: Final = 300.0
"""How long the forkserver may take to import modules, or to start or end a worker."""
_GRACE_S: Final = 10.0


class Worker(NamedTuple):
    """One process, our end of its channel, and the file that it may use for its output."""

    process: int
    channel: Channel
    output: Path


@final
class Server:
    """Starts a forkserver that has imported `preload`; call `close` at the end.

    preload: names of modules, or "module:function:text" where a function of one is called with a text afterwards.
    environment: variables of its process besides this one's. Raises BackendUnavailable where the system is not Linux,
    or the process cannot be started.
    """

    def __init__(self, preload: Sequence[str] = (), environment: Mapping[str, str] = MappingProxyType({})) -> None:
        if sys.platform != "linux":
            raise BackendUnavailable(
                f"The local launcher needs Linux, and this is {sys.platform}. Start the workers with torchrun."
            )
        self._control, given = pair()
        settings = os.environ | {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")} | dict(environment)
        self._command = [sys.executable, "-P", "-m", "simstrategy.launch.forkserver", str(given.fileno()), *preload]
        with given:
            # A new session: a signal of the terminal, such as Ctrl-C, reaches this process alone.
            self._forkserver = subprocess.Popen(
                self._command, env=settings, pass_fds=[given.fileno()], stdin=subprocess.DEVNULL, start_new_session=True
            )
        self._workers: dict[int, Worker] = {}
        self._folders: list[Path] = []
        self.problem: str | None = None
        """The error of the first module of `preload` that could not be imported, or None; known once it has started."""
        self.close = weakref.finalize(self, _end, self._control, self._forkserver, self._workers, self._folders)
        """Kills all workers and every process that they started, and removes all files.  May be called again."""

    @property
    def process(self) -> int:
        """The process number of the forkserver."""
        return self._forkserver.pid

    @property
    def folder(self) -> Path:
        """The folder for files of the workers; only this user can read it, and it is removed at the end.

        Waits until the forkserver has imported its modules.  Raises BackendUnavailable where it could not start.
        """
        if not self._folders:
            try:
                answer, _ = self._control.receive(within_s=_ANSWER_S)
            except (Closed, TimeoutError) as error:
                self.close()
                command = " ".join(self._command)
                raise BackendUnavailable(f"The local launcher could not start {command}. {error}") from error
            except BaseException:
                self.close()
                raise
            self.problem = answer["problem"]
            self._folders.append(Path(answer["folder"]))
        return self._folders[0]

    def start(self, main: str) -> Worker:
        """Starts a worker, which calls `main` ("module:function") with its channel and the name of its output."""
        folder = self.folder
        channel, given = pair()
        with given:
            process = self._ask({"do": "start", "main": main}, hand=given.fileno())
        worker = self._workers[process] = Worker(process, channel, folder / f"output{process}")
        return worker

    def end(self, worker: Worker) -> int:
        """Ends a worker, and every process that it started; returns its exit code, negative for a signal."""
        del self._workers[worker.process]
        worker.channel.close()
        code: int = self._ask({"do": "end", "process": worker.process})
        return code

    def _ask(self, message: dict[str, Any], *, hand: int | None = None) -> Any:
        try:
            self._control.send(message, hand=hand)
            return self._control.receive(within_s=_ANSWER_S)[0]
        except (Closed, OSError) as error:
            raise BackendUnavailable(
                "The local launcher was closed, or its forkserver was killed or stopped. Make a new Launcher."
            ) from error


def _end(
    control: Channel, forkserver: "subprocess.Popen[bytes]", workers: dict[int, Worker], folders: list[Path]
) -> None:
    """Closes the channel of the forkserver, which ends the workers and removes the folder.

    Removes the folder here too, for a forkserver that was killed.
    """
    for worker in workers.values():
        worker.channel.close()
    control.close()
    try:
        forkserver.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        forkserver.kill()
        forkserver.wait()
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
