"""Runs a script of torch.distributed on simulated ranks."""

from contextlib import closing

from simstrategy.check.scripts.facts import ScriptSettings
from simstrategy.check.scripts.outcomes import outcome_of
from simstrategy_torch_distributed.checking.front import runner_of

__all__ = ["outcomes"]

IMPORTED = ("torchmetrics", "torch.distributed.tensor", "torch.distributed.fsdp")
"""What is imported once for all ranks of all runs."""


def outcomes(file, counts):
    """Yields the outcome of one run of a file on each number of ranks."""
    with closing(runner_of(file, imported=IMPORTED)) as runner:
        for count in counts:
            yield outcome_of(runner.run(ScriptSettings(count, (), "linear")), None)
