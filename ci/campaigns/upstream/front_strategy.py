"""Runs a program of a MirroredStrategy on logical CPUs, in this process."""

from simstrategy.check.programs import load_program
from simstrategy_tf_distribute.devices import names
from simstrategy_tf_distribute.running import run_once

__all__ = ["outcomes"]


def outcomes(file, counts):
    """Yields the outcome of one run of a file on each number of replicas."""
    names(max(counts))  # TensorFlow makes its devices once
    program = load_program(file)
    for count in counts:
        yield run_once(program, 1, count).outcome
