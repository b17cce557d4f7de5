"""What each operation of a group exchanges: what a member puts where others read it, and what it makes of theirs.

Results are written when the returned work is waited for. Tensors are dense, on the CPU; parts are numbered as they were
put. Reductions are made in rank order, in the order of operations of the run.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import torch
from torch.distributed import Work

from simstrategy_torch_distributed.arguments import Options, require, write
from simstrategy_torch_distributed.calls import ANY
from simstrategy_torch_distributed.joined import Joined, Read, nothing
from simstrategy_torch_distributed.sums import combined

__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "broadcast",
    "gather",
    "receive",
    "reduce",
    "reduce_scatter",
    "scatter",
    "send",
]

Tensors = Sequence[torch.Tensor]
Lists = Sequence[Sequence[torch.Tensor]]


@final
@dataclass(frozen=True, slots=True)
class _Total:
    """Combines the members' parts into tensors of a member, [...] each."""

    group: Joined
    tensors: Tensors
    op: str

    def __call__(self, read: Read) -> None:
        members, order = range(len(self.group.members)), self.group.rank.order
        for part, tensor in enumerate(self.tensors):
            if tensor.numel():
                write(tensor, combined([read(one, part, tensor) for one in members], self.op, order))


@final
@dataclass(frozen=True, slots=True)
class _Copy:
    """Copies part after part of each member to a member's tensors.  lists: for each part, [...] for each member."""

    lists: Lists

    def __call__(self, read: Read) -> None:
        for part, tensors in enumerate(self.lists):
            for member, tensor in enumerate(tensors):
                write(tensor, read(member, part, tensor))


@final
@dataclass(frozen=True, slots=True)
class _CopyOne:
    """Copies the parts of one member to tensors, [...] each."""

    source: int
    tensors: Tensors

    def __call__(self, read: Read) -> None:
        for part, tensor in enumerate(self.tensors):
            write(tensor, read(self.source, part, tensor))


def _require_each(group: Joined, kind: str, what: str, tensors: Tensors, own: torch.Tensor) -> None:
    """Raises InvalidArgument unless a list has a tensor [...] for each member, of as many elements as this member's."""
    require(kind, f"{what} tensors", len(tensors), len(group.members))
    for one in tensors:
        require(kind, f"elements in an {what} tensor", one.numel(), own.numel())


def all_reduce(group: Joined, tensors: Tensors, opts: Options) -> Work:
    """Combines the members' tensors, [...] each, in place."""
    return group.request(
        "all_reduce",
        tensors,
        opts,
        op=opts.op,
        leaves=tensors,
        places=group.put(tensors),
        finish=group.reading(None, _Total(group, tensors, opts.op)),
    )


def all_gather(group: Joined, outputs: Lists, inputs: Tensors, opts: Options, result: Tensors | None = None) -> Work:
    """Copies the members' inputs, [...] each, to this member's outputs: for each input [...] for each member.

    result: what the work's future gives, [...] each; None for the outputs.
    """
    for outs, one in zip(outputs, inputs, strict=True):
        _require_each(group, "all_gather", "output", outs, one)
    return group.request(
        "all_gather",
        [out for outs in outputs for out in outs] if result is None else result,
        opts,
        leaves=inputs,
        places=group.put(inputs),
        finish=group.reading(None, _Copy(outputs)),
    )


def broadcast(group: Joined, tensors: Tensors, opts: Options) -> Work:
    """Copies the root's tensors, [...] each, to the other members'."""
    own = group.member == opts.root
    others = [one for one in range(len(group.members)) if one != opts.root]
    return group.request(
        "broadcast",
        tensors,
        opts,
        subject=group.root_text(opts),
        leaves=tensors,
        places=group.put(tensors, others) if own else (),
        finish=nothing if own else group.reading([opts.root], _CopyOne(opts.root, tensors)),
    )


def reduce(group: Joined, tensors: Tensors, opts: Options) -> Work:
    """Combines the members' tensors, [...] each, into the root's."""
    own = group.member == opts.root
    return group.request(
        "reduce",
        tensors,
        opts,
        op=opts.op,
        subject=group.root_text(opts),
        leaves=tensors,
        places=group.put(tensors, [opts.root]),
        finish=group.reading(None, _Total(group, tensors, opts.op)) if own else nothing,
    )


def gather(group: Joined, outputs: Tensors, tensor: torch.Tensor, opts: Options) -> Work:
    """Copies the members' tensors, [...] each, to the root's outputs, [...] for each member; others have none."""
    own = group.member == opts.root
    if own:
        _require_each(group, "gather", "output", outputs, tensor)
    return group.request(
        "gather",
        outputs,
        opts,
        subject=group.root_text(opts),
        leaves=[tensor],
        places=group.put([tensor], [opts.root]),
        finish=group.reading(None, _Copy([outputs])) if own else nothing,
    )


def scatter(group: Joined, tensor: torch.Tensor, inputs: Tensors, opts: Options) -> Work:
    """Copies each of the root's inputs, [...] for each member, to its member's tensor; other members have no inputs."""
    own = group.member == opts.root
    if own:
        _require_each(group, "scatter", "input", inputs, tensor)
    return group.request(
        "scatter",
        [tensor],
        opts,
        subject=group.root_text(opts),
        leaves=[tensor],
        places=group.put(inputs) if own else (),
        finish=group.reading([opts.root], _CopyOne(opts.root, [tensor])),
    )


def reduce_scatter(group: Joined, outputs: Tensors, inputs: Lists, opts: Options) -> Work:
    """Combines, for each output, [...], the tensors that the members have for this member in their lists."""
    for output, ins in zip(outputs, inputs, strict=True):
        require("reduce_scatter", "input tensors", len(ins), len(group.members))
        require("reduce_scatter", "elements in its own output", output.numel(), ins[group.member].numel())
    return group.request(
        "reduce_scatter",
        outputs,
        opts,
        op=opts.op,
        leaves=[one for ins in inputs for one in ins],
        places=group.put([ins[member] for member in range(len(group.members)) for ins in inputs]),
        finish=group.reading(None, _Total(group, outputs, opts.op)),
    )


def all_to_all(group: Joined, outputs: Tensors, inputs: Tensors, result: Tensors, opts: Options) -> Work:
    """Copies each member's input for this member to the output for that one: [...] for each member.

    result: what the work's future gives.
    """
    return group.request(
        "all_to_all",
        result,
        opts,
        leaves=[inputs[0], outputs[0]],
        places=group.put(inputs),
        sizes=[[one.numel() for one in inputs], [one.numel() for one in outputs]],
        finish=group.reading(None, _Copy([outputs])),
    )


def send(group: Joined, tensors: Tensors, target: int, tag: int) -> Work:
    """Sends tensors, [...] each, to a member."""
    return group.request(
        "send",
        tensors,
        Options(),
        subject=group.peer_text("send", "to", target),
        leaves=tensors,
        places=group.put(tensors, [target], takes_inf=False),
        peer=target,
        tag=tag,
    )


def receive(group: Joined, tensors: Tensors, source: int | None, tag: int) -> Work:
    """Receives tensors, [...] each, from a member, or for None from whichever sends."""

    def finish(answer: Any) -> None:
        sender, places = answer
        group.reading([sender], _CopyOne(sender, tensors))({sender: places})

    return group.request(
        "recv",
        tensors,
        Options(),
        subject="from any rank" if source is None else group.peer_text("recv", "from", source),
        leaves=tensors,
        finish=finish,
        peer=ANY if source is None else source,
        tag=tag,
    )
