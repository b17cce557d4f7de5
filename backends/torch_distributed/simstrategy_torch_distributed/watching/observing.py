"""Begins to observe, in the process of a rank, what the judged laws need."""

from collections.abc import Callable, Collection, Sequence

import torch

from simstrategy_torch_distributed.link import Link
from simstrategy_torch_distributed.watching.results import Results
from simstrategy_torch_distributed.watching.samplers import watch_samplers
from simstrategy_torch_distributed.watching.steps import Steps

__all__ = ["observe"]


def observe(link: Link, laws: Collection[str]) -> Callable[[], None]:
    """Begins to observe for these laws; returns what is to be called when the script has ended."""
    steps = Steps(link.observed, link.made) if "state" in laws else None
    results = Results(link.observed) if "late" in laws else None
    if "coverage" in laws:
        watch_samplers(link.observed)

    def requested(
        kind: str, group: str, ranks: Sequence[int], tensors: Sequence[torch.Tensor], written: Sequence[torch.Tensor]
    ) -> None:
        if steps is not None:
            steps.requested(kind, group, ranks, tensors, written)
        if results is not None:
            results.requested(kind, tensors)

    def at_end() -> None:
        if steps is not None:
            steps.end()

    if steps is not None or results is not None:
        link.requested = requested
    if results is not None:
        link.began, link.finished = results.began, results.finished
    return at_end
