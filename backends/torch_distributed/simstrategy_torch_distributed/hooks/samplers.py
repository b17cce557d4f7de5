"""Which samples each rank takes: the indices of every pass of a DataLoader or a BatchSampler.

The class BatchSampler is replaced in the process of a rank by one that notes what it yields, and so is the method by
which a DataLoader takes the next batch of indices: torch has no hook there. Where another object makes the loader's
batches, as a class of the script or of a library does that picks some of a BatchSampler's, what it makes counts, not
what it draws from. What is drawn otherwise, as from an IterableDataset, is not seen.
"""

import functools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, final
from weakref import WeakKeyDictionary

import torch.utils.data
from torch.utils.data import BatchSampler, IterableDataset
from torch.utils.data import dataloader as loading

from simstrategy.run.frames import is_users
from simstrategy_torch_distributed.hooks.passes import Note, Pass, Passes, facts_of, facts_of_batches, length_of
from simstrategy_torch_distributed.link import site_of

__all__ = ["replace_samplers", "watch_samplers"]


@dataclass(slots=True)
class _Taking:
    """What loaders are doing now.  passes: of the rank; None where none are noted.

    picked: how many loaders take a batch that another object makes. ahead: how many take one before the script wants
    it, for their workers.
    """

    passes: Passes | None = None
    picked: int = 0
    ahead: int = 0


_TAKING: Final = _Taking()


def watch_samplers(
    send: Callable[[list[Any]], None] | None, acts: Callable[[], int], note: Note | None
) -> Callable[[], None]:
    """Makes every DataLoader, and every BatchSampler that is made from now on, note its passes.

    Returns what is to be called in the end.  The arguments are those of `Passes`.
    """
    passes = _TAKING.passes = Passes(send, acts, note)
    replace_samplers()
    return passes.end


@functools.cache
def replace_samplers() -> None:
    """Replaces BatchSampler, once, and the loaders' method, by such as note passes where they are watched.

    What imports BatchSampler by name, or has a class made from it, has to be imported afterwards.
    """
    _watch_loaders(_watch_batches())


def _watch_batches() -> type[BatchSampler]:
    """Replaces BatchSampler; returns what stands in its place."""
    original = BatchSampler

    @final
    class Watched(original):  # type: ignore[misc, valid-type]  # the class that is replaced
        """torch's class; each pass is noted, unless another object picks from it."""

        def __init__(self, *given: Any, **named: Any) -> None:
            original.__init__(self, *given, **named)
            self._made = site_of(sys._getframe(1))

        def __iter__(self) -> Iterator[list[int]]:
            taker, passes = sys._getframe(1), _TAKING.passes
            is_own = is_users(taker)
            if passes is None or _TAKING.picked or not _takes_all(taker.f_globals.get("__name__", ""), is_own=is_own):
                yield from original.__iter__(self)
                return
            facts = facts_of(self.sampler) | {"made": self._made, "batch": self.batch_size if self.drop_last else 1}
            found = passes.begin(taker, facts, None if _TAKING.ahead else length_of(self))
            for batch in original.__iter__(self):
                passes.took(found, batch)
                yield batch
            passes.ended(found)

    Watched.__name__ = Watched.__qualname__ = original.__name__
    Watched.__module__ = original.__module__
    for module in (torch.utils.data, torch.utils.data.sampler, loading):
        vars(module)["BatchSampler"] = Watched
    return Watched


def _takes_all(module: str, *, is_own: bool) -> bool:
    """Returns whether what takes batches is torch's DataLoader, or a line of the user's, and no library that picks."""
    return is_own or module == loading.__name__


def _watch_loaders(watched: type[BatchSampler]) -> None:
    """Notes the passes of loaders whose batches another object makes, and what all loaders do meanwhile."""
    iterating = vars(loading)["_BaseDataLoaderIter"]
    original = vars(iterating)["_next_index"]
    found: WeakKeyDictionary[Any, tuple[Any, Pass]] = WeakKeyDictionary()

    def is_noted(sampler: object) -> bool:
        """Returns whether a sampler's own passes are noted; a class that makes other batches may be below it."""
        return isinstance(sampler, watched) and type(sampler).__iter__ is watched.__iter__

    def begun(self: Any, passes: Passes) -> Pass:
        """Returns the pass of a loader's iterator, which may go through its batches several times."""
        iterator, one = found.get(self, (None, None))
        if one is None or iterator is not self._sampler_iter:
            sampler, whole = self._index_sampler, None if self._num_workers else length_of(self._index_sampler)
            one = passes.begin(sys._getframe(2), facts_of_batches(sampler, self._dataset), whole)
            found[self] = (self._sampler_iter, one)
        return one

    def next_index(self: Any) -> Any:
        passes = _TAKING.passes
        if passes is None:
            return original(self)
        is_picked = self._auto_collation and not is_noted(self._index_sampler)
        one = begun(self, passes) if is_picked and not isinstance(self._dataset, IterableDataset) else None
        picked, ahead = int(one is not None), int(self._num_workers > 0)
        _TAKING.picked, _TAKING.ahead = _TAKING.picked + picked, _TAKING.ahead + ahead
        try:
            batch = original(self)
        except StopIteration:
            if one is not None:
                passes.ended(one)
            raise
        finally:
            _TAKING.picked, _TAKING.ahead = _TAKING.picked - picked, _TAKING.ahead - ahead
        if one is not None:
            passes.took(one, batch)
        return batch

    iterating._next_index = next_index  # noqa: SLF001 - torch has no hook
