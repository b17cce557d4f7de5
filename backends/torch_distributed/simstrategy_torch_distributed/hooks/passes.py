"""The passes of a rank over its rows: which indices it takes, batch by batch.

Each pass that comes to its end, or takes as many batches as its sampler has, is sent for the law of coverage. The first
pass of each line in which a script trains is noted for a check, whether it ends or not.
"""

import base64
from collections import Counter
from collections.abc import Callable, Iterable, Sized
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Final, final

import numpy as np
import torch
from torch.utils.data import DistributedSampler, RandomSampler, SequentialSampler

from simstrategy.trace import describe_site
from simstrategy_torch_distributed.link import site_of

__all__ = ["Note", "Pass", "Passes", "facts_of", "facts_of_batches", "length_of"]

_INDICES_MAX: Final = 1 << 20
"""Passes with more indices are not sent."""
_NOTED_MAX: Final = 1 << 16
"""So many indices of a pass are noted."""

Note = Callable[[dict[str, Any], list[np.ndarray[Any, Any]]], None]
"""Takes the facts of a pass, and the indices with the number of each batch's."""


@dataclass(slots=True, eq=False)
class Pass:
    """One pass.  facts: of its sampler. whole: how many batches a whole one has; None where that is not known.

    begun: how many collective calls and steps the rank had made before it. acts: how many came since.
    """

    site: tuple[str, int]
    number: int
    facts: dict[str, Any]
    whole: int | None
    begun: int
    is_graded: bool
    acts: int = 0
    drawn: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    is_known: bool = True
    is_sent: bool = False


@final
class Passes:
    """Collects the passes of a rank.

    send: takes a message; None where no law asks. acts: returns how many collective calls and optimizer steps the rank
    has made. note: takes the first pass of each line that trains; None where no check asks.
    """

    def __init__(self, send: Callable[[list[Any]], None] | None, acts: Callable[[], int], note: Note | None) -> None:
        self._send = send
        self._acts = acts
        self._note = note
        self._numbers: Counter[tuple[str, int]] = Counter()
        self._open: dict[int, Pass] = {}
        """Passes that have all their batches, and may go on."""
        self._training: dict[tuple[str, int], Pass] = {}

    def begin(self, frame: FrameType, facts: dict[str, Any], whole: int | None) -> Pass:
        """Begins a pass.  frame: what takes the first batch."""
        site = site_of(frame)
        graded = torch.is_grad_enabled()
        begun = Pass(site, self._numbers[site], facts, whole, self._acts(), graded)
        self._numbers[site] += 1
        if graded and self._note is not None:
            self._training.setdefault(site, begun)
        return begun

    def took(self, one: Pass, batch: object) -> None:
        """Notes a batch of a pass; one that is no list of indices makes the pass unknown."""
        indices = list(batch) if isinstance(batch, (list, tuple)) else None
        if indices is None or not all(isinstance(index, (int, np.integer)) for index in indices):
            one.is_known = False
        elif len(one.drawn) <= _INDICES_MAX:
            one.drawn += map(int, indices)
            one.sizes.append(len(indices))
        one.acts = self._acts() - one.begun
        if len(one.sizes) == one.whole:
            self._open[id(one)] = one
        else:
            self._open.pop(id(one), None)  # it has more batches than its length says

    def ended(self, one: Pass) -> None:
        """Sends a pass that has come to its end."""
        self._open.pop(id(one), None)
        one.acts = self._acts() - one.begun
        self._report(one)

    def end(self) -> None:
        """Sends the passes that took all their batches and were left, and notes those that train."""
        for one in self._open.values():
            self._report(one)
        for site, one in self._training.items():
            if self._note is not None and one.is_known and one.sizes:
                sizes = np.asarray(one.sizes, np.int64)
                sizes = sizes[np.cumsum(sizes) <= _NOTED_MAX]
                facts = {"site": describe_site(site), "name": one.facts["name"]}
                self._note(facts, [np.asarray(one.drawn[: int(sizes.sum())], np.int64), sizes])

    def _report(self, one: Pass) -> None:
        if self._send is None or not one.is_known or len(one.drawn) > _INDICES_MAX or one.is_sent:
            return
        one.is_sent = True
        data = base64.b64encode(np.asarray(one.drawn, dtype=np.int64).tobytes()).decode()
        drawing = {"site": one.site, "pass": one.number, "acts": one.acts, "drawn": data, "graded": one.is_graded}
        self._send(["coverage", {"made": one.site, "batch": max(one.sizes, default=1), **one.facts, **drawing}])


def facts_of(sampler: Any) -> dict[str, Any]:
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
            "count": length_of(sampler.dataset),
            "share": share,
            "seeded": sampler.shuffle,
        }
    if isinstance(sampler, (SequentialSampler, RandomSampler)):
        return {**facts, "kind": "torch", "count": length_of(sampler.data_source)}
    if type(sampler).__module__.startswith("torch."):
        return {**facts, "kind": "torch"}
    try:
        fields = vars(sampler)
    except TypeError:  # any iterable may be a sampler: a range, a list, an object with slots alone
        return facts
    return {**facts, "count": length_of(fields.get("dataset", fields.get("data_source")))}


def facts_of_batches(sampler: Iterable[Any], dataset: object) -> dict[str, Any]:
    """Returns the same of an object of the script, or of a library, that makes batches of indices."""
    return {**facts_of(sampler), "kind": "own", "count": length_of(dataset)}


def length_of(data: object) -> int | None:
    """Returns how many items something has; None where it has no length."""
    try:
        return len(data) if isinstance(data, Sized) else None
    except TypeError:  # a class may have the method, and not what it counts
        return None
