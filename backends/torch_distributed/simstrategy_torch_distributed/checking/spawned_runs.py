"""Runs a script that spawns its ranks itself: its own process, and ranks that wait for what it spawns."""

import os
import socket
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from simstrategy.errors import PeerFailed
from simstrategy.launch.channel import Closed
from simstrategy.launch.server import Server, Worker
from simstrategy_torch_distributed.findings import Finding
from simstrategy_torch_distributed.outputs import remove_files
from simstrategy_torch_distributed.report import Report
from simstrategy_torch_distributed.running import run_on
from simstrategy_torch_distributed.settings import Settings

__all__ = ["run_spawned"]

_MAIN: Final = "simstrategy_torch_distributed.seating:serve"
_FOLLOWING: Final = ("ProcessRaisedException", "ProcessExitedException")
"""What torch.multiprocessing raises in the script's own process where one that it has spawned fails."""
_ENDING_S: Final = 300.0
"""How long the script's own process may take to end after all ranks have."""
_GRACE_S: Final = 10.0
"""The same, where a rank has failed."""


def run_spawned(servers: Sequence[Server], settings: Settings, folder: Path) -> Report:
    """Runs a script as `python SCRIPT` does, with simulated ranks for what it spawns; returns how ranks ended.

    folder: for the socket at which they meet. Where all ranks end well and the script's own process does not, that is
    the finding.
    """
    place = str(folder / "seats")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(place)
        listening.listen(settings.ranks)
        worker = servers[0].start(_MAIN)
        job = {
            "script": settings.script,
            "arguments": list(settings.arguments),
            "is_module": settings.is_module,
            "ranks": settings.ranks,
            "device": settings.device,
            "seed": settings.seed,
            "environment": dict(os.environ),
            "folder": settings.folder or os.getcwd(),
        }
        worker.channel.send(job, hand=listening.fileno())
    try:
        report = run_on(servers, replace(settings, seat=place))
        is_well = report.finding is None and report.failed is None
        problem = _problem(worker, _ENDING_S if is_well else _GRACE_S)
    finally:
        servers[0].end(worker)
        remove_files(worker.output)
    return report if problem is None else _with_problem(report, problem)


def _with_problem(report: Report, problem: str) -> Report:
    """Returns the report with how the script's own process failed, unless that follows from a process's failure."""
    if report.finding is None and report.failed is None:
        text = f"All processes that the script has spawned have ended, and its own process {problem}."
        return report._replace(finding=Finding("failure", PeerFailed.__name__, text, ()))
    given = problem.partition(": ")[2]
    if report.finding is None or given in report.finding.text or any(name in problem for name in _FOLLOWING):
        return report
    return report._replace(
        finding=report.finding._replace(text=f"{report.finding.text}\n  the script's own process {problem}")
    )


def _problem(worker: Worker, within_s: float) -> str | None:
    """Waits for the end of the script's own process; returns how it failed, None for success."""
    try:
        ending, _ = worker.channel.receive(within_s=within_s)
    except Closed:
        return "was killed"
    except TimeoutError:
        return f"has not ended within {within_s:g} s after them"
    return None if not ending["code"] else f"has failed: {ending['text']}"
