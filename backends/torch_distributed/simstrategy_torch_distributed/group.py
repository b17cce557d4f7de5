"""A simulated process group under the names that `torch.distributed`, its reducers and its meshes call.

Names and order of parameters are torch's; what the operations do is in `exchanges.py`.
"""

from collections.abc import Sequence
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import torch
from torch.distributed import ProcessGroup, Work
from torch.distributed.distributed_c10d import Store

from simstrategy.errors import Unsupported
from simstrategy_torch_distributed import exchanges
from simstrategy_torch_distributed.arguments import (
    Given,
    Options,
    checked,
    chunks,
    listed,
    options,
    require,
    require_whole_world,
    split,
)
from simstrategy_torch_distributed.joined import Joined, Ranks
from simstrategy_torch_distributed.sparse import only_sparse, reduce_sparse

__all__ = ["SimulatedGroup"]

Tensor = torch.Tensor
Lists = Sequence[Sequence[torch.Tensor]]


class SimulatedGroup(ProcessGroup):
    """A process group of simulated ranks.  It is joined when torch has set its name and ranks in `options`."""

    def __init__(self, ranks: Ranks, store: Store, number: int, size: int, timeout: timedelta) -> None:
        ProcessGroup.__init__(self, number, size)  # type: ignore[call-arg]  # torch's stub lacks this form
        self.options = SimpleNamespace(global_ranks_in_group=[], group_name="")
        self._ranks = ranks
        self._store = store
        self._timeout = timeout
        self._description = "undefined"
        self._group: Joined | None = None

    # What torch asks a group about itself.

    @property
    def group_name(self) -> str:  # type: ignore[override]  # torch's type of names is a str
        return str(self.options.group_name)

    @property
    def group_desc(self) -> str:
        return self._description

    def _set_group_desc(self, description: str) -> None:
        self._description = description

    def _set_sequence_number_for_group(self) -> None:
        """Joins the group; torch calls this when it has set the options."""
        members = self.options.global_ranks_in_group
        rank = self._ranks(self._store, None if members else (self.rank(), self.size()))
        if not members:
            require_whole_world(self.rank(), self.size(), rank.number, rank.size)
        self._group = Joined(rank, members, self.group_name, self._timeout)

    @property
    def _joined(self) -> Joined:
        if self._group is None:
            raise Unsupported(
                "Simulated ranks have the groups of init_process_group, new_group and init_device_mesh; this one is "
                "made without them, as torch.distributed.rpc makes its own. Use one of those three."
            )
        return self._group

    def getBackendName(self) -> str:  # noqa: N802 - torch's name
        """Returns another name than gloo's: for that, DDP's logger would take this object for gloo's own, in C++."""
        return "simulated"

    def name(self) -> str:
        return "gloo"

    def get_group_store(self) -> Store:
        return self._store

    def set_timeout(self, timeout: timedelta) -> None:
        self._joined.timeout = timeout

    def shutdown(self) -> None:
        """Does nothing: nothing of a group outlives its rank."""

    def abort(self) -> None:
        """Does nothing: nothing of a group outlives its rank."""

    # Every member has the result.

    def allreduce(self, tensors: Given, opts: Any = None, timeout: Any = None) -> Work:
        found = options(opts)
        sparse = only_sparse(tensors)
        if sparse is not None:
            return reduce_sparse(self._joined, sparse, found)
        return exchanges.all_reduce(self._joined, listed("all_reduce", tensors), found)

    def allreduce_coalesced(self, tensors: Given, opts: Any = None) -> Work:
        return self.allreduce(tensors, opts)

    def allgather(  # type: ignore[override]  # both of torch's forms
        self, output_tensors: Any, input_tensors: Given, opts: Any = None, timeout: Any = None
    ) -> Work:
        inputs = listed("all_gather", input_tensors)
        lists = [output_tensors] if isinstance(output_tensors[0], Tensor) else output_tensors
        outputs = [checked("all_gather", list(one)) for one in lists]
        return exchanges.all_gather(self._joined, outputs, inputs, options(opts))

    def allgather_coalesced(self, output_lists: Lists, input_list: Given, opts: Any = None) -> Work:
        inputs = listed("all_gather", input_list)
        outputs = [[outs[one] for outs in output_lists] for one in range(len(inputs))]
        return exchanges.all_gather(self._joined, outputs, inputs, options(opts))

    def all_gather_single(self, output: Tensor, input: Tensor, opts: Any = None) -> Work:  # noqa: A002 - torch's name
        return self.all_gather_single_coalesced([output], [input], opts)

    def _allgather_base(self, output: Tensor, input: Tensor, opts: Any = None) -> Work:  # noqa: A002 - torch's name
        return self.all_gather_single_coalesced([output], [input], opts)

    def allgather_into_tensor_coalesced(self, outputs: Given, inputs: Given, opts: Any = None) -> Work:
        return self.all_gather_single_coalesced(outputs, inputs, opts)

    def all_gather_single_coalesced(self, outputs: Given, inputs: Given, opts: Any = None) -> Work:
        found, lists = listed("all_gather", inputs), []
        for output, one in zip(listed("all_gather", outputs), found, strict=True):
            require("all_gather", "elements in the output", output.numel(), one.numel() * self.size())
            lists.append(chunks(output, self.size()))
        return exchanges.all_gather(self._joined, lists, found, options(opts), listed("all_gather", outputs))

    def barrier(self, opts: Any = None, timeout: Any = None) -> Work:  # type: ignore[override]  # both of torch's forms
        return self._joined.request("barrier", (), options(opts))

    def monitored_barrier(self, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
        self._joined.request("monitored_barrier", (), Options(waits=True, timeout=timeout)).wait()

    # One member has the data, or the result.

    def broadcast(self, tensors: Given, opts: Any = None, timeout: Any = None) -> Work:
        return exchanges.broadcast(self._joined, listed("broadcast", tensors), options(opts))

    def reduce(self, tensors: Given, opts: Any = None, op: Any = None, timeout: Any = None) -> Work:
        return exchanges.reduce(self._joined, listed("reduce", tensors), options(opts, op))

    def gather(self, output_tensors: Any, input_tensors: Given, opts: Any = None, timeout: Any = None) -> Work:
        outputs = checked("gather", _first(output_tensors))
        return exchanges.gather(self._joined, outputs, listed("gather", input_tensors)[0], options(opts))

    def scatter(self, output_tensors: Given, input_tensors: Any, opts: Any = None, timeout: Any = None) -> Work:
        inputs = checked("scatter", _first(input_tensors))
        return exchanges.scatter(self._joined, listed("scatter", output_tensors)[0], inputs, options(opts))

    # Each member has its own part.

    def reduce_scatter(self, output_tensors: Given, input_tensors: Any, opts: Any = None, timeout: Any = None) -> Work:
        lists = [input_tensors] if isinstance(input_tensors[0], Tensor) else input_tensors
        inputs = [checked("reduce_scatter", list(one)) for one in lists]
        outputs = listed("reduce_scatter", output_tensors)
        return exchanges.reduce_scatter(self._joined, outputs, inputs, options(opts))

    def reduce_scatter_single(self, output: Tensor, input: Tensor, opts: Any = None) -> Work:  # noqa: A002 - torch's
        return self.reduce_scatter_single_coalesced([output], [input], opts)

    def _reduce_scatter_base(self, output: Tensor, input: Tensor, opts: Any = None) -> Work:  # noqa: A002 - torch's
        return self.reduce_scatter_single_coalesced([output], [input], opts)

    def reduce_scatter_tensor_coalesced(self, outputs: Given, inputs: Given, opts: Any = None) -> Work:
        return self.reduce_scatter_single_coalesced(outputs, inputs, opts)

    def reduce_scatter_single_coalesced(self, outputs: Given, inputs: Given, opts: Any = None) -> Work:
        found, lists = listed("reduce_scatter", outputs), []
        for output, one in zip(found, listed("reduce_scatter", inputs), strict=True):
            require("reduce_scatter", "elements in the input", one.numel(), output.numel() * self.size())
            lists.append(chunks(one.contiguous(), self.size()))
        return exchanges.reduce_scatter(self._joined, found, lists, options(opts))

    def alltoall(  # type: ignore[override]  # both of torch's forms
        self, output_tensors: Given, input_tensors: Given, opts: Any = None, timeout: Any = None
    ) -> Work:
        outputs, inputs = listed("all_to_all", output_tensors), listed("all_to_all", input_tensors)
        require("all_to_all", "output tensors", len(outputs), self.size())
        require("all_to_all", "input tensors", len(inputs), self.size())
        return exchanges.all_to_all(self._joined, outputs, inputs, outputs, options(opts))

    def all_to_all_single(
        self,
        output: Tensor,
        input: Tensor,  # noqa: A002 - torch's name
        output_split_sizes: Sequence[int],
        input_split_sizes: Sequence[int],
        opts: Any = None,
    ) -> Work:
        checked("all_to_all", [output, input])
        outputs = split(output, output_split_sizes, self.size())
        inputs = split(input.contiguous(), input_split_sizes, self.size())
        return exchanges.all_to_all(self._joined, outputs, inputs, [output], options(opts))

    alltoall_base = all_to_all_single  # type: ignore[assignment]  # both of torch's forms

    # Two members.

    def send(self, tensors: Given, dstRank: int, tag: int = 0) -> Work:  # noqa: N803 - torch's name
        return exchanges.send(self._joined, listed("send", tensors), dstRank, tag)

    def recv(self, tensors: Given, srcRank: int, tag: int = 0) -> Work:  # noqa: N803 - torch's name
        return exchanges.receive(self._joined, listed("recv", tensors), srcRank, tag)

    def recv_anysource(self, tensors: Given, tag: int = 0) -> Work:
        return exchanges.receive(self._joined, listed("recv", tensors), None, tag)


def _first(given: Any) -> list[Tensor]:
    """Returns the root's tensors: torch passes a list of one list, or an empty one on other members."""
    if not given:
        return []
    return list(given) if isinstance(given[0], Tensor) else list(given[0])
