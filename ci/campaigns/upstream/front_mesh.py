"""Runs a program of a JAX mesh on host devices."""

from contextlib import closing

from simstrategy.check.programs import load_program
from simstrategy.check.runs import Settings
from simstrategy.strategy import Semantics
from simstrategy_xla.mesh_check.runs import MeshRuns

__all__ = ["outcomes"]


def outcomes(file, counts):
    """Yields the outcome of one run of a file on each number of devices."""
    with closing(MeshRuns(load_program(file), ("data",), counts, Settings(Semantics.TF2))) as runs:
        for count in counts:
            yield runs.run_with(count, {})
