"""One process of `run_in_processes`: opens the backend, runs the program, writes its outcome."""

import os
from contextlib import closing
from pathlib import Path

from simstrategy.check.outcome import program_folder, run_program
from simstrategy.check.probe import GroupCallProbe
from simstrategy.check.processes import save_outcome
from simstrategy.check.programs import load_program
from simstrategy.device import open_backend
from simstrategy.strategy import PROFILES, Strategy, group_of
from simstrategy.trace import Trace


def main(
    file: str, function: str, arguments: list[str], backend_name: str, semantics: str, replicas: int, target: str
) -> None:
    """Runs one worker.  The arguments come from `processes.py`, the rank from the launcher."""
    program = load_program(file, function, arguments)
    with closing(open_backend(backend_name, replicas=replicas)) as backend:
        trace = Trace(root=program_folder(program))
        probe = GroupCallProbe(backend, trace)
        strategy = Strategy.multi_worker(probe, semantics=PROFILES[semantics], trace=trace, checks="paths")
        with closing(strategy):
            outcome = run_program(program, strategy, trace, probe=probe)
            group_of(strategy).coordinator.disconnect()
        save_outcome(outcome, Path(f"{target}{os.environ['RANK']}"))
