"""A process group in Python that is right, as a vendor might write one: all data goes through the store.

Importing this file registers it as the backend "stored". It is no gloo, and slow.
"""

import itertools
from collections import Counter
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.distributed import ProcessGroup, ReduceOp, Work

COMBINE = {
    ReduceOp.SUM: torch.add,
    ReduceOp.AVG: torch.add,
    ReduceOp.PRODUCT: torch.mul,
    ReduceOp.MIN: torch.minimum,
    ReduceOp.MAX: torch.maximum,
    ReduceOp.BAND: torch.bitwise_and,
    ReduceOp.BOR: torch.bitwise_or,
    ReduceOp.BXOR: torch.bitwise_xor,
}


class Later(Work):
    """Work that is complete when all its keys are in the store; it finishes once."""

    def __init__(self, store, keys, finish, source=-1):
        Work.__init__(self)
        self.store, self.keys, self.finish, self.source = store, keys, finish, source

    def is_completed(self):
        if self.finish is not None:
            if self.keys and not self.store.check(self.keys):
                return False
            finish, self.finish = self.finish, None
            finish()
        return True

    def wait(self, timeout=timedelta(0)):
        if self.finish is not None and self.keys:
            self.store.wait(self.keys)
        return self.is_completed()

    def get_future(self):
        self.wait()
        future = torch.futures.Future()
        future.set_result(None)
        return future

    def _source_rank(self):
        self.wait()
        return self.source


class StoredGroup(ProcessGroup):
    """The operations by the names that torch calls."""

    def __init__(self, store, rank, size):
        ProcessGroup.__init__(self, rank, size)
        self.store, self.ranks = store, range(size)
        self.numbers, self.messages = itertools.count(), Counter()

    def getBackendName(self):  # noqa: N802 - torch calls it
        return "stored"

    # What a wrong group does otherwise.

    def bytes_of(self, tensor):
        plain = torch.empty(tensor.numel(), dtype=tensor.dtype).copy_(tensor.detach().reshape(-1))
        return plain.view(torch.uint8).numpy().tobytes()

    def require_op(self, tensor, op):
        if op not in COMBINE or tensor.dtype in (torch.uint16, torch.uint32, torch.uint64):
            raise NotImplementedError(f"stored combines no {tensor.dtype} by {op}")

    def combined(self, tensors, op):
        total = tensors[0]
        for one in tensors[1:]:
            total = COMBINE[op](total, one)
        return total / len(tensors) if op == ReduceOp.AVG else total

    def root(self, opts):
        return opts.rootRank

    def work(self, keys, finish):
        return Later(self.store, keys, finish)

    # How data comes and goes.

    def write(self, tensor, data):
        if tensor.numel():
            plain = torch.frombuffer(bytearray(data), dtype=torch.uint8).view(tensor.dtype)
            tensor.detach().copy_(plain.view(tensor.shape))

    def like(self, tensor, data):
        one = torch.empty(tensor.shape, dtype=tensor.dtype)
        self.write(one, data)
        return one

    def share(self, tensors, finish, sources=None, readers=None):
        """Puts tensors into the store; `finish` gets what each of the sources has put, as bytes by rank."""
        number, sources = next(self.numbers), list(self.ranks if sources is None else sources)
        if self.rank() in sources:
            for place, tensor in enumerate(tensors):
                self.store.set(f"{number}/{self.rank()}/{place}", self.bytes_of(tensor))
            self.store.set(f"{number}/{self.rank()}", str(len(tensors)))
        if readers is not None and self.rank() not in readers:
            return self.work([], lambda: None)

        def read():
            counts = {rank: int(self.store.get(f"{number}/{rank}")) for rank in sources}
            finish({rank: [self.store.get(f"{number}/{rank}/{one}") for one in range(n)] for rank, n in counts.items()})

        return self.work([f"{number}/{rank}" for rank in sources], read)

    # The operations.

    def allreduce(self, tensors, opts):
        op = opts.reduceOp.op
        self.require_op(tensors[0], op)

        def finish(found):
            for place, tensor in enumerate(tensors):
                parts = [self.like(tensor, found[rank][place]) for rank in self.ranks]
                tensor.detach().copy_(self.combined(parts, op))

        return self.share(tensors, finish)

    allreduce_coalesced = allreduce

    def reduce(self, tensors, opts):
        root, op = self.root(opts), opts.reduceOp.op
        self.require_op(tensors[0], op)

        def finish(found):
            parts = [self.like(tensors[0], found[rank][0]) for rank in self.ranks]
            tensors[0].detach().copy_(self.combined(parts, op))

        return self.share(tensors, finish, readers=[root])

    def broadcast(self, tensors, opts):
        root = self.root(opts)
        return self.share(tensors, lambda found: self.write(tensors[0], found[root][0]), sources=[root])

    def allgather(self, outputs, inputs, opts=None):
        def finish(found):
            for place, tensors in enumerate(outputs):
                for rank in self.ranks:
                    self.write(tensors[rank], found[rank][place])

        return self.share(inputs, finish)

    def allgather_coalesced(self, lists, inputs, opts=None):
        return self.allgather([[lists[rank][one] for rank in self.ranks] for one in range(len(inputs))], inputs)

    def all_gather_single(self, output, tensor, opts=None):
        return self.share([tensor], lambda found: self.write(output, b"".join(found[rank][0] for rank in self.ranks)))

    def reduce_scatter(self, outputs, lists, opts):
        op = opts.reduceOp.op
        self.require_op(outputs[0], op)

        def finish(found):
            parts = [self.like(outputs[0], found[rank][self.rank()]) for rank in self.ranks]
            outputs[0].detach().copy_(self.combined(parts, op))

        return self.share(lists[0], finish)

    def reduce_scatter_single(self, output, tensor, opts):
        return self.reduce_scatter([output], [list(tensor.contiguous().view(self.size(), -1).unbind(0))], opts)

    def alltoall(self, outputs, inputs, opts=None):
        def finish(found):
            for rank in self.ranks:
                self.write(outputs[rank], found[rank][self.rank()])

        return self.share(inputs, finish)

    def all_to_all_single(self, output, tensor, output_sizes, input_sizes, opts=None):
        equal = [len(tensor) // self.size()] * self.size()
        parts = list(tensor.contiguous().split(input_sizes or equal))
        return self.alltoall(list(output.split(output_sizes or equal)), parts)

    def gather(self, outputs, inputs, opts):
        def finish(found):
            for rank in self.ranks:
                self.write(outputs[0][rank], found[rank][0])

        return self.share(inputs, finish, readers=[self.root(opts)])

    def scatter(self, outputs, lists, opts):
        root = self.root(opts)
        given = lists[0] if self.rank() == root else []
        return self.share(given, lambda found: self.write(outputs[0], found[root][self.rank()]), sources=[root])

    def barrier(self, opts=None):
        return self.share([], lambda found: None)

    def send(self, tensors, to, tag=0):
        self.messages["to", to, tag] += 1
        self.store.set(f"{self.rank()}>{to}/{tag}/{self.messages['to', to, tag]}", self.bytes_of(tensors[0]))
        return self.work([], lambda: None)

    def recv(self, tensors, source, tag=0):
        self.messages["of", source, tag] += 1
        key = f"{source}>{self.rank()}/{tag}/{self.messages['of', source, tag]}"
        return Later(self.store, [key], lambda: self.write(tensors[0], self.store.get(key)), source)

    def recv_anysource(self, tensors, tag=0):
        while True:
            for one in self.ranks:
                if self.store.check([f"{one}>{self.rank()}/{tag}/{self.messages['of', one, tag] + 1}"]):
                    return self.recv(tensors, one, tag)


def register(name, make):
    """Registers a backend; `make` takes store, rank and size."""
    dist.Backend.register_backend(name, lambda store, rank, size, timeout: make(store, rank, size), devices=["cpu"])


register("stored", StoredGroup)
