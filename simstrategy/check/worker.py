"""One process of `run_in_processes`: opens the backend, runs the program, writes its outcome."""

import sys
from contextlib import closing
from pathlib import Path

from simstrategy.check.outcome import program_folder, run_program
from simstrategy.check.processes import save_outcome
from simstrategy.check.programs import load_program
from simstrategy.device import open_backend
from simstrategy.strategy import PROFILES, Strategy
from simstrategy.trace import Trace


def main(file: str, function: str, backend_name: str, semantics: str, replicas: str, target: str) -> None:
    """Runs one worker; arguments come as texts from `processes.py`."""
    program = load_program(file, function)
    with closing(open_backend(backend_name, replicas=int(replicas))) as backend:
        trace = Trace(root=program_folder(program))
        strategy = Strategy.multi_worker(backend, semantics=PROFILES[semantics], trace=trace)
        with closing(strategy):
            outcome = run_program(program, strategy, trace)
            strategy.extended.engine.room.leave()
        save_outcome(outcome, Path(target))


if __name__ == "__main__":
    main(*sys.argv[1:])
