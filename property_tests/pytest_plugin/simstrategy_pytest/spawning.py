"""Processes that tests start by `torch.multiprocessing.spawn` or `start_processes`: with --simulated-ranks, ranks.

One name of `torch.multiprocessing.spawn` is replaced, which `spawn` calls too. Processes that a test starts in another
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
from multiprocessing import context
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any, Final, final

import torch.multiprocessing
from _pytest.assertion.rewrite import AssertionRewritingHook

from simstrategy.errors import InvalidArgument
from simstrategy_pytest.inherited import Spawning
from simstrategy_pytest.ranks import Forkservers
from simstrategy_torch_distributed.report import Report
from simstrategy_torch_distributed.running import Function, Settings, run_on

__all__ = ["simulate_spawned"]

_TARGET: Final = "simstrategy_pytest.in_rank:call_spawned"
_ENDED: Final = ("called sys.exit", "has ended with exit code", "was killed by signal")
_FILE: Final = str(Path(__file__))
"""In place of a script: what runs is a function."""


def simulate_spawned(servers: Forkservers) -> None:
    """Makes `torch.multiprocessing.spawn` and `start_processes` run their function on simulated ranks.

    servers: those of the session.
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
        function = _function(fn, tuple(args))
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

    def __init__(self, servers: Forkservers, settings: Settings) -> None:
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
        if self._report.finding is not None:
            raise _failure(self._report)
        return True

    def _run(self, servers: Forkservers, settings: Settings) -> None:
        try:
            with servers.one(None) as server:
                self._report = run_on(server, settings)
        except BaseException as error:  # noqa: BLE001 - `join` raises it
            self._error = error


def _function(fn: Callable[..., Any], args: tuple[Any, ...]) -> Function:
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
    is_test = module.__spec__ is not None and isinstance(module.__spec__.loader, AssertionRewritingHook)
    spawned = {
        "path": sys.path,
        "key": bytes(multiprocessing.current_process().authkey),
        "module": module.__name__,
        "file": module.__file__ if is_test else None,
        "call": call,
    }
    data = base64.b64encode(pickle.dumps(spawned)).decode()
    return Function(_TARGET, data, tuple(spawning.files), is_torchrun=False)


def _failure(report: Report) -> Exception:
    """Returns what torch raises where a process has failed, with the finding and what the rank has printed."""
    assert report.finding is not None
    rank = 0 if report.failed is None else report.failed
    one = report.ranks[rank]
    text = f"{report.finding.text}\n\nRank {rank} printed, at the end:\n{one.output[-4000:]}"
    if report.failed is not None and one.text.startswith(_ENDED):
        name = signal.Signals(-one.code).name if one.code < 0 else None
        return torch.multiprocessing.ProcessExitedException(text, rank, 0, one.code, name)
    return torch.multiprocessing.ProcessRaisedException(text, rank, 0)
