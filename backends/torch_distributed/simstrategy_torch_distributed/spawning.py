"""Processes that are started by `torch.multiprocessing.spawn` or `start_processes`, as simulated ranks.

One name of `torch.multiprocessing.spawn` is replaced, which `spawn` calls too. Processes that are started in another
way, and those of the start method "fork", stay what they are.
"""

import base64
import importlib
import multiprocessing
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from multiprocessing import context
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from types import ModuleType
from typing import Any, Final, final

import torch.multiprocessing
from torch.multiprocessing.spawn import ProcessExitedException, ProcessRaisedException

from simstrategy.errors import InvalidArgument
from simstrategy.launch.server import Server
from simstrategy_torch_distributed.inherited import Spawning
from simstrategy_torch_distributed.report import Report
from simstrategy_torch_distributed.running import Function, Settings, run_on

__all__ = ["simulate_spawned"]

_ENDED: Final = ("called sys.exit", "has ended with exit code", "was killed by signal")
Servers = Callable[[], AbstractContextManager[Server]]
_FILE: Final = str(Path(__file__))
"""In place of a script: what runs is a function."""


def simulate_spawned(servers: Servers, target: str, file_of: Callable[[ModuleType], str | None]) -> None:
    """Makes `torch.multiprocessing.spawn` and `start_processes` run their function on simulated ranks.

    servers: gives a forkserver for one run. target: what a rank calls with the number of its rank and the call, as
    `Function` has it. file_of: returns the file of a module that ranks cannot import by its name, None for others.
    """
    spawn = importlib.import_module("torch.multiprocessing.spawn")
    original = spawn.start_processes

    def start_processes(
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        nprocs: int = 1,
        join: bool = True,
        daemon: bool = False,
        start_method: str = "spawn",
        **settings: Any,
    ) -> Any:
        if start_method == "fork":
            return original(fn, args, nprocs, join, daemon, start_method, **settings)
        function = _function(fn, tuple(args), target, file_of)
        ranks = _Ranks(servers, Settings(_FILE, ranks=nprocs, tee=True, function=function))
        if not join:
            return ranks
        ranks.join()
        return None

    for module in (spawn, torch.multiprocessing):
        vars(module)["start_processes"] = start_processes


@final
class _Ranks:
    """A run of a function on simulated ranks, in place of torch's `ProcessContext`."""

    def __init__(self, servers: Servers, settings: Settings) -> None:
        self._report: Report | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(servers, settings), daemon=True)
        self._thread.start()

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Waits for the ranks, at most `timeout` seconds; returns whether all have ended.

        Raises torch's ProcessRaisedException or ProcessExitedException with what the run found. grace_period: torch's,
        and not needed: ranks that a failure leaves are ended after two seconds.
        """
        self._thread.join(timeout)
        if self._thread.is_alive():
            return False
        if self._error is not None:
            raise self._error
        assert self._report is not None
        if self._report.findings:
            raise _failure(self._report)
        return True

    def _run(self, servers: Servers, settings: Settings) -> None:
        try:
            with servers() as server:
                self._report = run_on(server, settings)
        except BaseException as error:  # noqa: BLE001 - `join` raises it
            self._error = error


def _function(
    fn: Callable[..., Any], args: tuple[Any, ...], target: str, file_of: Callable[[ModuleType], str | None]
) -> Function:
    """Returns the call of a spawned function as ranks receive it.  Raises InvalidArgument for what cannot be sent."""
    spawning = Spawning()
    context.set_spawning_popen(spawning)  # type: ignore[arg-type]  # as each of multiprocessing's start methods does
    try:
        call = bytes(ForkingPickler.dumps((fn, args)))
    except Exception as error:
        raise InvalidArgument(
            f"{fn!r} and its arguments cannot be sent to simulated ranks: {error}. Spawned processes need a function "
            f"at the top level of a file, and arguments that can be pickled."
        ) from error
    finally:
        context.set_spawning_popen(None)
    module = sys.modules[fn.__module__]
    spawned = {
        "path": sys.path,
        "key": bytes(multiprocessing.current_process().authkey),
        "module": module.__name__,
        "file": file_of(module),
        "call": call,
    }
    data = base64.b64encode(pickle.dumps(spawned)).decode()
    return Function(target, data, tuple(spawning.files), is_torchrun=False)


def _failure(report: Report) -> Exception:
    """Returns what torch raises where a process has failed, with the finding and what the rank has printed."""
    rank = 0 if report.failed is None else report.failed
    one = report.ranks[rank]
    found = "\n\n".join(finding.text for finding in report.findings)
    text = f"{found}\n\nRank {rank} printed, at the end:\n{one.output[-4000:]}"
    if report.failed is not None and one.text.startswith(_ENDED):
        name = signal.Signals(-one.code).name if one.code < 0 else None
        return ProcessExitedException(text, rank, 0, one.code, name)
    return ProcessRaisedException(text, rank, 0)
