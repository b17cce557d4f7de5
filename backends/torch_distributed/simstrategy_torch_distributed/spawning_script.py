"""Runs a script that spawns its ranks itself, as `python SCRIPT` does, with simulated ranks for what it spawns."""

import os
import sys
from dataclasses import replace

from simstrategy_torch_distributed.preloading import modules_of_torch
from simstrategy_torch_distributed.program import run_program
from simstrategy_torch_distributed.running import started
from simstrategy_torch_distributed.settings import Settings
from simstrategy_torch_distributed.spawning import Spawning, simulate_spawned

__all__ = ["run_spawning"]


def run_spawning(settings: Settings) -> int:
    """Runs a script in this process until it and all that it has spawned have ended; returns the exit code.

    It is the script's own, or 1 where groups show what no rank has raised, which is printed.
    """
    lasting = settings if settings.is_module else replace(settings, script=os.path.abspath(settings.script))
    server = started([] if settings.is_module else modules_of_torch(settings.script))
    try:
        spawning = Spawning(lambda: server, lasting)  # the script may change its folder
        simulate_spawned(spawning)
        ending = run_program(settings.script, list(settings.arguments), is_module=settings.is_module)
        spawning.wait()
        found = spawning.findings()
    finally:
        server.close()
    if not spawning.started:
        sys.stderr.write(
            "simstrategy: The script has spawned no process, so nothing was simulated. Processes that are forked stay "
            "what they are: start them with the method 'spawn', as torch.multiprocessing.spawn does.\n"
        )
    for text in found:
        sys.stderr.write(f"simstrategy: {text}\n")
    return ending.code or int(bool(found))
