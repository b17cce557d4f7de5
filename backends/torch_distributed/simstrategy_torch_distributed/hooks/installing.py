"""Installs, in the process of a rank, the hooks that observe what the judged laws need."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook

from simstrategy_torch_distributed.hooks.draws import Draws
from simstrategy_torch_distributed.hooks.passes import Note
from simstrategy_torch_distributed.hooks.results import Results
from simstrategy_torch_distributed.hooks.samplers import watch_samplers
from simstrategy_torch_distributed.hooks.steps import Steps
from simstrategy_torch_distributed.link import Link, Requested

__all__ = ["install_hooks"]


def install_hooks(link: Link, laws: Collection[str], output: Path, note: Note | None = None) -> Callable[[], None]:
    """Begins to observe for these laws; returns what is to be called when the script has ended.

    output: the name of this rank's file for what it prints, with which names of other files begin. note: takes the
    rows of passes that train; None where that is not wanted.
    """
    takers: list[Requested] = []
    enders: list[Callable[[], None]] = []
    if "state" in laws:
        steps = Steps(link.observed, link.made)
        takers.append(steps.requested)
        enders.append(steps.end)
    if "late" in laws:
        results = Results(link.observed)
        takers.append(lambda kind, _group, _ranks, tensors, _written: results.requested(kind, tensors))
        link.began, link.finished = results.began, results.finished
    if "coverage" in laws or note is not None:
        enders.append(watch_samplers(link.observed if "coverage" in laws else None, _acts(link), note))
    if "random" in laws:
        draws = Draws(link.observed, output)
        takers.append(draws.requested)
        enders.append(draws.end)

    def requested(
        kind: str, group: str, ranks: Sequence[int], tensors: Sequence[torch.Tensor], written: Sequence[torch.Tensor]
    ) -> None:
        for take in takers:
            take(kind, group, ranks, tensors, written)

    def at_end() -> None:
        for end in enders:
            end()

    if takers:
        link.requested = requested
    return at_end


def _acts(link: Link) -> Callable[[], int]:
    """Returns what counts the collective calls and the optimizer steps of the rank from now on."""
    made = Counter[str]()

    def stepped(_optimizer: Optimizer, _given: Any, _named: Any) -> None:
        made["steps"] += 1

    register_optimizer_step_post_hook(stepped)
    return lambda: made.total() + link.made.total()
