"""Groups that are wrong in one way each, registered under their names when this file is imported."""

import ctypes
import threading

import torch
import torch.distributed as dist
from stored_group import Later, StoredGroup, register
from torch.distributed import ProcessGroupGloo, ReduceOp, Work


class SumsAtFive(StoredGroup):
    """Forgets to divide where there are five ranks."""

    def combined(self, tensors, op):
        forgets = op == ReduceOp.AVG and len(tensors) == 5
        return StoredGroup.combined(self, tensors, ReduceOp.SUM if forgets else op)


class ReadsMemory(StoredGroup):
    """Reads a view as if its elements followed each other."""

    def bytes_of(self, tensor):
        return StoredGroup.bytes_of(self, tensor.detach().as_strided((tensor.numel(),), (1,)))


class LosesTheLast(StoredGroup):
    """Loses the last element of more than a thousand."""

    def bytes_of(self, tensor):
        data, size = StoredGroup.bytes_of(self, tensor), tensor.element_size()
        return data[:-size] + b"\0" * size if tensor.numel() > 1000 else data


class Clobbers(StoredGroup):
    """Overwrites its inputs when it has read them."""

    def bytes_of(self, tensor):
        data = StoredGroup.bytes_of(self, tensor)
        tensor.detach().fill_(5)
        return data


class Stale(StoredGroup):
    """Sends again what it has sent of a tensor of as many bytes."""

    def __init__(self, store, rank, size):
        StoredGroup.__init__(self, store, rank, size)
        self.kept = {}

    def bytes_of(self, tensor):
        return self.kept.setdefault(tensor.nbytes, StoredGroup.bytes_of(self, tensor))


class KeepsPacked(StoredGroup):
    """Sends again what it has sent before of the same memory, as long as no other tensor comes between."""

    def __init__(self, store, rank, size):
        StoredGroup.__init__(self, store, rank, size)
        self.kept = ((), b"")

    def bytes_of(self, tensor):
        key = (tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride())
        if self.kept[0] != key:
            self.kept = (key, StoredGroup.bytes_of(self, tensor))
        return self.kept[1]


class SendsLater(StoredGroup):
    """Reads what it sends when it has reported that it is sent."""

    def send(self, tensors, to, tag=0):
        self.messages["to", to, tag] += 1
        key = f"{self.rank()}>{to}/{tag}/{self.messages['to', to, tag]}"
        threading.Timer(0.05, lambda: self.store.set(key, self.bytes_of(tensors[0]))).start()
        return Nothing()


class LeastOfBytes(StoredGroup):
    """Takes the least number for the largest, of int8 alone."""

    def combined(self, tensors, op):
        turned = op == ReduceOp.MAX and tensors[0].dtype == torch.int8
        return StoredGroup.combined(self, tensors, ReduceOp.MIN if turned else op)


class ReadsInOrder(StoredGroup):
    """Reads a tensor without gaps in the order of its memory."""

    def bytes_of(self, tensor):
        one = tensor.detach()
        order = sorted(range(one.ndim), key=one.stride, reverse=True)
        return StoredGroup.bytes_of(self, one.permute(order) if one.permute(order).is_contiguous() else one)


class OneAtATime(StoredGroup):
    """Has one buffer for what it sends: a call takes that of the call before, if nobody has waited for it."""

    def __init__(self, store, rank, size):
        StoredGroup.__init__(self, store, rank, size)
        self.buffer = None

    def allreduce(self, tensors, opts):
        kept = (
            self.buffer is not None and self.buffer.shape == tensors[0].shape and self.buffer.dtype == tensors[0].dtype
        )
        self.buffer = self.buffer if kept else tensors[0].clone()
        tensors[0].copy_(self.buffer)
        return Freeing(StoredGroup.allreduce(self, tensors, opts), self)


class Freeing(Work):
    """A work that frees its group's buffer when it is complete."""

    def __init__(self, work, group):
        Work.__init__(self)
        self.work, self.group = work, group

    def is_completed(self):
        done = self.work.is_completed()
        self.group.buffer = None if done else self.group.buffer
        return done

    def wait(self, timeout=None):
        return self.work.wait() and self.is_completed()


class TakesWorldRanks(StoredGroup):
    """Takes the root's number in the group for its number in the world, where that is a member."""

    def __init__(self, store, rank, size, world):
        StoredGroup.__init__(self, store, rank, size)
        self.world = world

    def root(self, opts):
        return self.world.index(opts.rootRank) if opts.rootRank in self.world else opts.rootRank


class DoneAtOnce(Later):
    """Reports that it is complete before it is."""

    def is_completed(self):
        return True

    def wait(self, timeout=None):
        return Later.is_completed(self) or True


class NeverWaits(StoredGroup):
    """Returns works that are done at once."""

    def work(self, keys, finish):
        return DoneAtOnce(self.store, keys, finish)


class ReportsEarly(StoredGroup):
    """Returns works that wait, and report that they are complete before."""

    def work(self, keys, finish):
        return Early(self.store, keys, finish)


class Early(Later):
    """Waits, and does not look whether it is complete."""

    def is_completed(self):
        return True

    def wait(self, timeout=None):
        return Later.wait(self) and Later.is_completed(self)


class HandsOn(StoredGroup):
    """Passes its reductions on to gloo."""

    def __init__(self, store, rank, size):
        StoredGroup.__init__(self, store, rank, size)
        self.inner = ProcessGroupGloo(dist.PrefixStore("inner", store), rank, size)

    def allreduce(self, tensors, opts):
        return self.inner.allreduce(tensors, opts)


class GathersByGloo(StoredGroup):
    """Passes one call on to gloo, and does all others itself."""

    def __init__(self, store, rank, size):
        StoredGroup.__init__(self, store, rank, size)
        self.inner = ProcessGroupGloo(dist.PrefixStore("inner", store), rank, size)

    def gather(self, outputs, inputs, opts):
        return self.inner.gather(outputs, inputs, opts)


class AveragesOverTheWorld(StoredGroup):
    """Divides by the size of the world, also in a group of some ranks."""

    def combined(self, tensors, op):
        total = StoredGroup.combined(self, tensors, dist.ReduceOp.SUM if op == dist.ReduceOp.AVG else op)
        return total / dist.get_world_size() if op == dist.ReduceOp.AVG else total


class PassesTheBarrier(StoredGroup):
    """Does not wait in its barrier."""

    def barrier(self, opts):
        return Nothing()


class Nothing(Work):
    """Work without work."""

    def wait(self, timeout=None):
        return True

    def is_completed(self):
        return True


class Crashes(StoredGroup):
    """Reads where there is no memory."""

    def allreduce(self, tensors, opts):
        return ctypes.string_at(0)


class Hangs(StoredGroup):
    """Never returns."""

    def broadcast(self, tensors, opts):
        threading.Event().wait()


class RefusesAlone(Hangs):
    """Refuses in rank 0 what the others wait for."""

    def broadcast(self, tensors, opts):
        if self.rank() == 0:
            raise NotImplementedError("rank 0 has no root")
        Hangs.broadcast(self, tensors, opts)


class OtherDtype(StoredGroup):
    """Leaves a tensor of another dtype."""

    def allreduce(self, tensors, opts):
        tensors[0].data = torch.zeros(tensors[0].shape, dtype=torch.float16)
        return Nothing()


def no_group(store, rank, size):
    """Raises in place of making a group."""
    raise OSError("no device of Acme was found in this machine")


def crash(store, rank, size):
    """Crashes in place of making a group."""
    ctypes.string_at(0)


def hang(store, rank, size):
    """Never returns in place of making a group."""
    threading.Event().wait()


def with_world_ranks(opts, _):
    ranks = opts.global_ranks_in_group or list(range(opts.group_size))
    return TakesWorldRanks(opts.store, opts.group_rank, opts.group_size, ranks)


MADE = (
    SumsAtFive,
    ReadsMemory,
    LosesTheLast,
    Clobbers,
    NeverWaits,
    ReportsEarly,
    HandsOn,
    GathersByGloo,
    AveragesOverTheWorld,
    PassesTheBarrier,
    Crashes,
    Hangs,
    RefusesAlone,
    OtherDtype,
    Stale,
    KeepsPacked,
    SendsLater,
    LeastOfBytes,
    ReadsInOrder,
    OneAtATime,
)
for made in MADE:
    register(made.__name__.lower(), made)
for begun in (no_group, crash, hang):
    register(begun.__name__, begun)
register("falls_back", ProcessGroupGloo)
dist.Backend.register_backend("takesworldranks", with_world_ranks, extended_api=True, devices=["cpu"])
