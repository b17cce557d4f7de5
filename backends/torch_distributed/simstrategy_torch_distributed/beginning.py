"""How every process of a run begins, whatever it runs: signals, its folder and environment, generators, threads."""

import faulthandler
import os
import random
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from simstrategy_torch_distributed.program import unbuffered

__all__ = ["begun"]

_STACKS: Final = signal.SIGRTMAX
"""The signal at which a process writes the stacks of its threads beside its output."""


@contextmanager
def begun(job: Mapping[str, Any], number: int, output: Path) -> Iterator[None]:
    """Makes a forked process one of its own: `job` has the environment, the folder and the seed.

    number: what its generators differ by from those of others. output: the begin of the names of its files.
    """
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with open(f"{output}.stacks", "w", encoding="utf-8") as stacks:
        faulthandler.register(_STACKS, stacks, all_threads=True)
        unbuffered()
        os.chdir(job["folder"])
        for name in os.environ.keys() - job["environment"].keys():
            del os.environ[name]
        os.environ.update(job["environment"])
        sys.path[:] = [one for one in sys.path if one != ""]
        # In real processes these would differ in every run.
        random.seed(f"{job['seed']} {number}")
        np.random.seed([job["seed"], number])
        torch.default_generator.manual_seed(int(np.random.SeedSequence([job["seed"], number]).generate_state(1)[0]))
        torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
        yield
