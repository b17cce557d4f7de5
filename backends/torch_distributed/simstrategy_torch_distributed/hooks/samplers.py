"""Which samples each rank draws: the indices of every pass of a BatchSampler, as DataLoaders make it.

The class is replaced in the process of a rank by one that notes what it yields: torch has no hook there. Passes that a
script leaves early are not sent. What is drawn otherwise, as from an IterableDataset, is not seen.
"""

import base64
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sized
from typing import Any, Final, final

import numpy as np
import torch
import torch.utils.data
from torch.utils.data import BatchSampler, DistributedSampler, RandomSampler, SequentialSampler

from simstrategy.trace import describe_site
from simstrategy_torch_distributed.link import site_of

__all__ = ["watch_samplers"]

_INDICES_MAX: Final = 1 << 20
"""Passes with more indices are not sent."""


def watch_samplers(
    send: Callable[[list[Any]], None] | None,
    acts: Callable[[], int],
    note: Callable[[str, dict[str, Any]], None] | None,
) -> None:
    """Makes every BatchSampler that is made from now on note its passes.

    send: takes a message; None where no law asks. acts: returns how many collective calls and optimizer steps the rank
    has made. note: takes the line of a pass that begins where gradients are recorded, and who draws its order.
    """
    passes: Counter[tuple[str, int]] = Counter()
    original = BatchSampler

    @final
    class Watched(original):  # type: ignore[misc, valid-type]  # the class that is replaced
        """torch's class; each pass that comes to its end is sent."""

        def __init__(self, *given: Any, **named: Any) -> None:
            original.__init__(self, *given, **named)
            self._made = site_of(sys._getframe(1))

        def __iter__(self) -> Iterator[list[int]]:
            site = site_of(sys._getframe(1))
            number = passes[site]
            passes[site] += 1
            facts = _facts(self.sampler)
            if note is not None and not number and torch.is_grad_enabled():
                note(describe_site(site), _order(self.sampler, facts))
            drawn: list[Any] = []
            begun = acts()
            for batch in original.__iter__(self):
                if len(drawn) <= _INDICES_MAX:
                    drawn += batch
                yield batch
            if send is not None and len(drawn) <= _INDICES_MAX and all(isinstance(one, int) for one in drawn):
                drawing = {"site": site, "made": self._made, "pass": number, "acts": acts() - begun}
                batch_size = self.batch_size if self.drop_last else 1
                send(["coverage", {**facts, **drawing, "batch": batch_size, **_drawn(drawn)}])

    Watched.__name__ = Watched.__qualname__ = original.__name__
    Watched.__module__ = original.__module__
    for module in (torch.utils.data, torch.utils.data.sampler, torch.utils.data.dataloader):
        vars(module)["BatchSampler"] = Watched


def _drawn(indices: list[int]) -> dict[str, Any]:
    """Returns what a pass has drawn, and whether gradients are recorded."""
    data = base64.b64encode(np.asarray(indices, dtype=np.int64).tobytes()).decode()
    return {"drawn": data, "graded": torch.is_grad_enabled()}


def _order(sampler: Any, facts: dict[str, Any]) -> dict[str, Any]:
    """Returns who draws an order, and which share of how many; without a name where rows may come more than once."""
    is_random = isinstance(sampler, RandomSampler)
    is_known = facts["kind"] == "distributed" or isinstance(sampler, SequentialSampler)
    is_known |= is_random and not sampler.replacement and sampler.num_samples == facts["count"]
    share = facts["share"] or [0, 1]
    return {"name": facts["name"] if is_known else "", "share": share, "shuffled": is_random or facts["seeded"]}


def _facts(sampler: Any) -> dict[str, Any]:
    """Returns what is known of a sampler: its kind, the number of samples, and which share it draws of how many."""
    facts: dict[str, Any] = {
        "name": type(sampler).__name__,
        "kind": "own",
        "count": None,
        "share": None,
        "seeded": False,
    }
    if isinstance(sampler, DistributedSampler) and type(sampler).__iter__ is DistributedSampler.__iter__:
        share = [sampler.rank, sampler.num_replicas]
        return {
            **facts,
            "kind": "distributed",
            "count": _length(sampler.dataset),
            "share": share,
            "seeded": sampler.shuffle,
        }
    if isinstance(sampler, (SequentialSampler, RandomSampler)):
        return {**facts, "kind": "torch", "count": _length(sampler.data_source)}
    if type(sampler).__module__.startswith("torch."):
        return {**facts, "kind": "torch"}
    try:
        fields = vars(sampler)
    except TypeError:  # any iterable may be a sampler: a range, a list, an object with slots alone
        return facts
    return {**facts, "count": _length(fields.get("dataset", fields.get("data_source")))}


def _length(data: object) -> int | None:
    return len(data) if isinstance(data, Sized) else None
