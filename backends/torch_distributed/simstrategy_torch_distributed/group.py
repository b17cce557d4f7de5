"""The operations of a simulated process group, as `torch.distributed`, its reducers and its meshes call them.

Each copies what other ranks will read into shared memory, sends its call, and returns work; results are written when
the work is waited for. Tensors are dense, [...] of any dtype, on the CPU. Names and order of parameters are torch's.
"""

from collections.abc import Sequence
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import torch
from torch.distributed import ProcessGroup, Store, Work

from simstrategy_torch_distributed.arguments import (
    Given,
    checked,
    listed,
    operation,
    require,
    root,
    timeout,
    waits,
    write,
)
from simstrategy_torch_distributed.calls import ANY
from simstrategy_torch_distributed.joined import Joined, Rank, Read, nothing
from simstrategy_torch_distributed.sparse import only_sparse, reduce_sparse
from simstrategy_torch_distributed.sums import combined

__all__ = ["SimulatedGroup"]

Tensor = torch.Tensor
Lists = Sequence[Sequence[torch.Tensor]]


class SimulatedGroup(ProcessGroup):
    """A process group of simulated ranks.  It is joined when torch has set its name and ranks in `options`."""

    def __init__(self, shared: Rank, store: Store, rank: int, size: int, limit: timedelta) -> None:
        ProcessGroup.__init__(self, rank, size)
        self.options = SimpleNamespace(global_ranks_in_group=[], group_name="", _timeout=limit)
        self._shared = shared
        self._store = store
        self._description = "undefined"
        self._group: Joined | None = None

    # What torch asks a group about itself.

    @property
    def group_name(self) -> str:
        return str(self.options.group_name)

    @property
    def group_desc(self) -> str:
        return self._description

    def _set_group_desc(self, description: str) -> None:
        self._description = description

    def _set_sequence_number_for_group(self) -> None:
        """Joins the group; torch calls this when it has set the options."""
        self._group = Joined(self._shared, self.options.global_ranks_in_group, self.group_name, self.options._timeout)

    @property
    def _joined(self) -> Joined:
        assert self._group is not None
        return self._group

    def getBackendName(self) -> str:  # noqa: N802 - torch's name
        """Returns another name than gloo's: for that, DDP's logger would take this object for gloo's own, in C++."""
        return "simulated"

    def name(self) -> str:
        return "gloo"

    def get_group_store(self) -> Store:
        return self._store

    def set_timeout(self, limit: timedelta) -> None:
        self._joined.timeout = limit

    def shutdown(self) -> None:
        """Does nothing: nothing of a group outlives its rank."""

    def abort(self) -> None:
        """Does nothing: nothing of a group outlives its rank."""

    # Every member has the result.

    def allreduce(self, tensors: Given, opts: Any = None, timeout: Any = None) -> Work:
        if (given := only_sparse(tensors)) is not None:
            return reduce_sparse(self._joined, given, operation(opts), waits=waits(opts))
        found = listed("all_reduce", tensors)
        return self._reduced("all_reduce", found, found, opts)

    def allreduce_coalesced(self, tensors: Given, opts: Any = None) -> Work:
        return self.allreduce(tensors, opts)

    def _reduced(self, kind: str, inputs: list[Tensor], outputs: list[Tensor], opts: Any, **fields: Any) -> Work:
        """Combines the members' inputs into this member's outputs, of the same sizes."""
        group, op, order = self._joined, operation(opts), self._shared.order
        everyone = range(len(group.members))

        def use(read: Read) -> None:
            for part, tensor in enumerate(outputs):
                if tensor.numel():
                    write(tensor, combined([read(one, part, tensor) for one in everyone], op, order))

        return group.request(
            kind,
            outputs,
            waits=waits(opts),
            op=op,
            leaves=inputs,
            places=group.put(inputs),
            finish=group.reading(None, use),
            timeout=timeout(opts),
        )

    def allgather(self, output_tensors: Any, input_tensors: Given, opts: Any = None, timeout: Any = None) -> Work:
        inputs = listed("all_gather", input_tensors)
        lists = [output_tensors] if isinstance(output_tensors[0], Tensor) else output_tensors
        return self._gathered([checked("all_gather", list(one)) for one in lists], inputs, opts)

    def allgather_coalesced(self, output_lists: Lists, input_list: Given, opts: Any = None) -> Work:
        inputs = listed("all_gather", input_list)
        by_input = [[outputs[one] for outputs in output_lists] for one in range(len(inputs))]
        return self._gathered(by_input, inputs, opts)

    def all_gather_single(self, output: Tensor, input: Tensor, opts: Any = None) -> Work:  # noqa: A002 - torch's name
        return self.all_gather_single_coalesced([output], [input], opts)

    def _allgather_base(self, output: Tensor, input: Tensor, opts: Any = None) -> Work:  # noqa: A002 - torch's name
        return self.all_gather_single_coalesced([output], [input], opts)

    def allgather_into_tensor_coalesced(self, outputs: Given, inputs: Given, opts: Any = None) -> Work:
        return self.all_gather_single_coalesced(outputs, inputs, opts)

    def all_gather_single_coalesced(self, outputs: Given, inputs: Given, opts: Any = None) -> Work:
        chunks = []
        found = listed("all_gather", inputs)
        for output, one in zip(listed("all_gather", outputs), found, strict=True):
            require("all_gather", "elements in the output", output.numel(), one.numel() * self.size())
            chunks.append(_chunks(output, self.size()))
        return self._gathered(chunks, found, opts)

    def _gathered(self, outputs: Sequence[Sequence[Tensor]], inputs: list[Tensor], opts: Any) -> Work:
        """Copies the members' inputs to this member's outputs, a list for each input."""
        group = self._joined
        for outs, one in zip(outputs, inputs, strict=True):
            require("all_gather", "output tensors", len(outs), len(group.members))
            for out in outs:
                require("all_gather", "elements in an output tensor", out.numel(), one.numel())

        def use(read: Read) -> None:
            for part, outs in enumerate(outputs):
                for member, out in enumerate(outs):
                    write(out, read(member, part, out))

        return group.request(
            "all_gather",
            [out for outs in outputs for out in outs],
            waits=waits(opts),
            leaves=inputs,
            places=group.put(inputs),
            finish=group.reading(None, use),
            timeout=timeout(opts),
        )

    def barrier(self, opts: Any = None, timeout: Any = None) -> Work:
        return self._joined.request("barrier", waits=waits(opts))

    def monitored_barrier(self, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
        limit = {} if timeout is None else {"timeout": timeout}
        self._joined.request("monitored_barrier", waits=True, **limit).wait()

    # One member has the data, or the result.

    def broadcast(self, tensors: Given, opts: Any = None, timeout_: Any = None) -> Work:
        group, found, source = self._joined, listed("broadcast", tensors), root(opts)
        own = group.member == source
        others = [one for one in range(len(group.members)) if one != source]

        def use(read: Read) -> None:
            for part, tensor in enumerate(found):
                write(tensor, read(source, part, tensor))

        return group.request(
            "broadcast",
            found,
            waits=waits(opts),
            subject=f"root {group.members[source]}",
            leaves=found,
            places=group.put(found, others) if own else (),
            finish=nothing if own else group.reading([source], use),
            timeout=timeout(opts),
        )

    def reduce(self, tensors: Given, opts: Any = None, op: Any = None, timeout_: Any = None) -> Work:
        group, found, target = self._joined, listed("reduce", tensors), root(opts)
        name, order = operation(op if isinstance(opts, int) else opts), self._shared.order

        def use(read: Read) -> None:
            for part, tensor in enumerate(found):
                if tensor.numel():
                    write(tensor, combined([read(one, part, tensor) for one in range(len(group.members))], name, order))

        return group.request(
            "reduce",
            found,
            waits=waits(opts),
            op=name,
            subject=f"root {group.members[target]}",
            leaves=found,
            places=group.put(found, [target]),
            finish=group.reading(None, use) if group.member == target else nothing,
            timeout=timeout(opts),
        )

    def gather(self, output_tensors: Any, input_tensors: Given, opts: Any = None, timeout_: Any = None) -> Work:
        group, target = self._joined, root(opts)
        (tensor,) = listed("gather", input_tensors)
        outputs: list[Tensor] = []
        if group.member == target:
            outputs = checked("gather", list(output_tensors[0]))
            require("gather", "output tensors", len(outputs), len(group.members))
            for out in outputs:
                require("gather", "elements in an output tensor", out.numel(), tensor.numel())

        def use(read: Read) -> None:
            for member, out in enumerate(outputs):
                write(out, read(member, 0, out))

        return group.request(
            "gather",
            outputs,
            waits=waits(opts),
            subject=f"root {group.members[target]}",
            leaves=[tensor],
            places=group.put([tensor], [target]),
            finish=group.reading(None, use) if outputs else nothing,
            timeout=timeout(opts),
        )

    def scatter(self, output_tensors: Given, input_tensors: Any, opts: Any = None, timeout_: Any = None) -> Work:
        group, source = self._joined, root(opts)
        (tensor,) = listed("scatter", output_tensors)
        places: list[int] = []
        if group.member == source:
            inputs = checked("scatter", list(input_tensors[0]))
            require("scatter", "input tensors", len(inputs), len(group.members))
            for one in inputs:
                require("scatter", "elements in an input tensor", one.numel(), tensor.numel())
            places = group.put(inputs)

        def use(read: Read) -> None:
            write(tensor, read(source, 0, tensor))

        return group.request(
            "scatter",
            [tensor],
            waits=waits(opts),
            subject=f"root {group.members[source]}",
            leaves=[tensor],
            places=places,
            finish=group.reading([source], use),
            timeout=timeout(opts),
        )

    # Each member has its own part.

    def reduce_scatter(self, output_tensors: Given, input_tensors: Any, opts: Any = None, timeout_: Any = None) -> Work:
        outputs = listed("reduce_scatter", output_tensors)
        lists = [input_tensors] if isinstance(input_tensors[0], Tensor) else input_tensors
        return self._scattered(outputs, [checked("reduce_scatter", list(one)) for one in lists], opts)

    def reduce_scatter_single(self, output: Tensor, input: Tensor, opts: Any = None) -> Work:  # noqa: A002 - torch's name
        return self.reduce_scatter_single_coalesced([output], [input], opts)

    def _reduce_scatter_base(self, output: Tensor, input: Tensor, opts: Any = None) -> Work:  # noqa: A002 - torch's name
        return self.reduce_scatter_single_coalesced([output], [input], opts)

    def reduce_scatter_tensor_coalesced(self, outputs: Given, inputs: Given, opts: Any = None) -> Work:
        return self.reduce_scatter_single_coalesced(outputs, inputs, opts)

    def reduce_scatter_single_coalesced(self, outputs: Given, inputs: Given, opts: Any = None) -> Work:
        found, chunks = listed("reduce_scatter", outputs), []
        for output, one in zip(found, listed("reduce_scatter", inputs), strict=True):
            require("reduce_scatter", "elements in the input", one.numel(), output.numel() * self.size())
            chunks.append(_chunks(one.contiguous(), self.size()))
        return self._scattered(found, chunks, opts)

    def _scattered(self, outputs: list[Tensor], inputs: Sequence[Sequence[Tensor]], opts: Any) -> Work:
        """Combines, for each output, this member's tensors of the members' lists."""
        group, op, order = self._joined, operation(opts), self._shared.order
        everyone = range(len(group.members))
        for output, ins in zip(outputs, inputs, strict=True):
            require("reduce_scatter", "input tensors", len(ins), len(group.members))
            require("reduce_scatter", "elements in its own output", output.numel(), ins[group.member].numel())

        def use(read: Read) -> None:
            for part, tensor in enumerate(outputs):
                if tensor.numel():
                    write(tensor, combined([read(one, part, tensor) for one in everyone], op, order))

        return group.request(
            "reduce_scatter",
            outputs,
            waits=waits(opts),
            op=op,
            leaves=[one for ins in inputs for one in ins],
            places=group.put([ins[member] for member in everyone for ins in inputs]),
            finish=group.reading(None, use),
            timeout=timeout(opts),
        )

    def alltoall(self, output_tensors: Given, input_tensors: Given, opts: Any = None, timeout_: Any = None) -> Work:
        outputs, inputs = listed("all_to_all", output_tensors), listed("all_to_all", input_tensors)
        require("all_to_all", "output tensors", len(outputs), self.size())
        require("all_to_all", "input tensors", len(inputs), self.size())
        return self._exchanged(outputs, inputs, outputs, opts)

    def alltoall_base(
        self,
        output: Tensor,
        input: Tensor,  # noqa: A002 - torch's name
        output_split_sizes: Sequence[int],
        input_split_sizes: Sequence[int],
        opts: Any = None,
    ) -> Work:
        return self.all_to_all_single(output, input, output_split_sizes, input_split_sizes, opts)

    def all_to_all_single(
        self,
        output: Tensor,
        input: Tensor,  # noqa: A002 - torch's name
        output_split_sizes: Sequence[int],
        input_split_sizes: Sequence[int],
        opts: Any = None,
    ) -> Work:
        checked("all_to_all", [output, input])
        count = self.size()
        outputs = _split(output, output_split_sizes, count)
        inputs = _split(input.contiguous(), input_split_sizes, count)
        return self._exchanged(outputs, inputs, [output], opts)

    def _exchanged(self, outputs: list[Tensor], inputs: list[Tensor], result: list[Tensor], opts: Any) -> Work:
        """Copies the members' inputs for this member to its outputs."""
        group = self._joined

        def use(read: Read) -> None:
            for member, out in enumerate(outputs):
                write(out, read(member, 0, out))

        return group.request(
            "all_to_all",
            result,
            waits=waits(opts),
            leaves=[inputs[0], outputs[0]],
            places=group.put(inputs),
            sizes=[[one.numel() for one in inputs], [one.numel() for one in outputs]],
            finish=group.reading(None, use),
            timeout=timeout(opts),
        )

    # Two members.

    def send(self, tensors: Given, dstRank: int, tag: int = 0) -> Work:  # noqa: N803 - torch's name
        group, found = self._joined, listed("send", tensors)
        return group.request(
            "send",
            found,
            waits=False,
            subject=f"to rank {group.members[dstRank]}",
            leaves=found,
            places=group.put(found, [dstRank]),
            peer=dstRank,
            tag=tag,
        )

    def recv(self, tensors: Given, srcRank: int, tag: int = 0) -> Work:  # noqa: N803 - torch's name
        return self._received(listed("recv", tensors), srcRank, tag, f"from rank {self._joined.members[srcRank]}")

    def recv_anysource(self, tensors: Given, tag: int = 0) -> Work:
        return self._received(listed("recv", tensors), ANY, tag, "from any rank")

    def _received(self, found: list[Tensor], peer: int, tag: int, subject: str) -> Work:
        group = self._joined

        def finish(answer: Any) -> None:
            source, places = answer
            arena, rank = self._shared.arena, group.members[source]
            for tensor, place in zip(found, places[1:], strict=True):
                write(tensor, arena.get(rank, place, tensor.numel(), tensor.dtype))
            arena.release(rank, places[0], group.member)

        return group.request(
            "recv", found, waits=False, subject=subject, leaves=found, finish=finish, peer=peer, tag=tag
        )


def _chunks(tensor: Tensor, count: int) -> list[Tensor]:
    """Cuts a contiguous tensor, [...], into `count` equal parts, [n]."""
    flat = tensor.data.view(-1)
    return list(flat.view(count, -1).unbind(0)) if tensor.numel() else [flat] * count


def _split(tensor: Tensor, sizes: Sequence[int], count: int) -> list[Tensor]:
    """Cuts a contiguous tensor, [rows, ...], into parts of so many rows, or of equal ones where no sizes are given."""
    if not sizes:
        require("all_to_all", "rows that are left over", tensor.shape[0] % count, 0)
        sizes = [tensor.shape[0] // count] * count
    require("all_to_all", "split sizes", len(sizes), count)
    require("all_to_all", "rows in the splits", sum(sizes), tensor.shape[0])
    return list(tensor.data.split(list(sizes)))
