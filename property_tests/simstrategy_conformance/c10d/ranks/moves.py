"""Calls that move tensors unchanged between all members: broadcast, gathers, scatter, all_to_all.

Source: the documentation of `torch.distributed`, section "Collective functions".
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch.distributed as dist

from simstrategy_conformance.c10d.ranks.scene import Scene

__all__ = [
    "all_gather",
    "all_gather_coalesced",
    "all_gather_single",
    "all_gather_stacked",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "gather",
    "scatter",
]

Host = np.ndarray[Any, Any]


def broadcast(scene: Scene) -> int:
    """Examines broadcast: every member has the source's tensor."""
    root = scene.root
    host = scene.array(root)
    # One layout on all ranks, since the memory is what most backends send.
    held = scene.hold(host) if scene.me == root else scene.blank(host.shape, alike=True)
    others = [one for one in range(scene.size) if one != root]
    scene.run(
        lambda later: dist.broadcast(held.tensor, scene.members[root], scene.group, async_op=later),
        waits=others,
    )
    scene.require(held, host, "the result")
    return 0


def all_gather(scene: Scene) -> int:
    """Examines all_gather: every member has a list of all members' tensors, of other sizes in an uneven row."""
    hosts = scene.arrays()
    held, outputs = scene.hold(hosts[scene.me]), [scene.blank(host.shape) for host in hosts]
    tensors = [one.tensor for one in outputs]
    scene.run(
        lambda later: dist.all_gather(tensors, held.tensor, scene.group, async_op=later),
    )
    for index, one in enumerate(outputs):
        scene.require(one, hosts[index], f"tensor {index} of the list")
    scene.require_kept(held, hosts[scene.me])
    return 0


def all_gather_single(scene: Scene) -> int:
    """Examines the form with one output tensor, a concatenation of the inputs."""
    return _all_gather_single(scene, np.concatenate)


def all_gather_stacked(scene: Scene) -> int:
    """Examines the form with one output tensor, a stack of the inputs."""
    return _all_gather_single(scene, np.stack)


def _all_gather_single(scene: Scene, join: Callable[[list[Host]], Host]) -> int:
    hosts = scene.arrays()
    joined = join(hosts)
    held, output = scene.hold(hosts[scene.me]), scene.blank(joined.shape)
    call = vars(dist).get("all_gather_single") or dist.all_gather_into_tensor
    scene.run(
        lambda later: call(output.tensor, held.tensor, scene.group, async_op=later),
    )
    scene.require(output, joined, "the output")
    scene.require_kept(held, hosts[scene.me])
    return 0


def all_gather_coalesced(scene: Scene) -> int:
    """Examines all_gather_coalesced of two tensors."""
    hosts = [[scene.array(index, copy=copy) for copy in range(2)] for index in range(scene.size)]
    held = [scene.hold(host) for host in hosts[scene.me]]
    outputs = [[scene.blank(host.shape) for host in given] for given in hosts]
    lists, tensors = [[one.tensor for one in given] for given in outputs], [one.tensor for one in held]
    scene.run(
        lambda later: dist.all_gather_coalesced(lists, tensors, scene.group, async_op=later),
    )
    for index, given in enumerate(outputs):
        for copy, one in enumerate(given):
            scene.require(one, hosts[index][copy], f"tensor {copy} of list {index}")
    scene.require_all_kept(held, hosts[scene.me])
    return 0


def gather(scene: Scene) -> int:
    """Examines gather: the destination has a list of all members' tensors."""
    hosts, root = scene.arrays(), scene.root
    held = scene.hold(hosts[scene.me])
    outputs = [scene.blank(host.shape) for host in hosts] if scene.me == root else []
    tensors = [one.tensor for one in outputs] or None
    scene.run(
        lambda later: dist.gather(held.tensor, tensors, scene.members[root], scene.group, async_op=later),
        late=(root + 1) % scene.size,
        waits=(root,),
    )
    for index, one in enumerate(outputs):
        scene.require(one, hosts[index], f"tensor {index} of the destination's list")
    scene.require_kept(held, hosts[scene.me])
    return 0


def scatter(scene: Scene) -> int:
    """Examines scatter: member i has tensor i of the source's list."""
    root = scene.root
    hosts = [scene.array(root, copy=copy) for copy in range(scene.size)]
    held = [scene.hold(host) for host in hosts] if scene.me == root else []
    output, tensors = scene.blank(hosts[0].shape), [one.tensor for one in held] or None
    others = [one for one in range(scene.size) if one != root]
    scene.run(
        lambda later: dist.scatter(output.tensor, tensors, scene.members[root], scene.group, async_op=later),
        waits=others,
    )
    scene.require(output, hosts[scene.me], "the output")
    scene.require_all_kept(held, hosts if scene.me == root else [])
    return 0


def all_to_all(scene: Scene) -> int:
    """Examines all_to_all: member i has tensor i of every member's list, of other sizes in an uneven row."""
    hosts = [[_part(scene, sender, receiver) for receiver in range(scene.size)] for sender in range(scene.size)]
    held = [scene.hold(host) for host in hosts[scene.me]]
    due = [given[scene.me] for given in hosts]
    outputs = [scene.blank(host.shape) for host in due]
    results, tensors = [one.tensor for one in outputs], [one.tensor for one in held]
    scene.run(
        lambda later: dist.all_to_all(results, tensors, scene.group, async_op=later),
    )
    for sender, one in enumerate(outputs):
        scene.require(one, due[sender], f"tensor {sender} of the output list")
    scene.require_all_kept(held, hosts[scene.me])
    return 0


def all_to_all_single(scene: Scene) -> int:
    """Examines all_to_all_single; in an uneven row, or where it is called again, with sizes of the splits."""
    hosts = [[_part(scene, sender, receiver) for receiver in range(scene.size)] for sender in range(scene.size)]
    due = [given[scene.me] for given in hosts]
    held, output = scene.hold(_joined(hosts[scene.me])), scene.blank(_joined(due).shape)
    sizes = [[len(one) if one.ndim else 1 for one in given] for given in (due, hosts[scene.me])]
    due_sizes, own_sizes = sizes if scene.row.uneven or scene.row.again else (None, None)
    scene.run(
        lambda later: dist.all_to_all_single(
            output.tensor, held.tensor, due_sizes, own_sizes, scene.group, async_op=later
        ),
    )
    scene.require(output, _joined(due), "the output")
    scene.require_kept(held, _joined(hosts[scene.me]))
    return 0


def _part(scene: Scene, sender: int, receiver: int) -> Host:
    """Returns what one member sends to another, [row's shape]; of an uneven row's sizes, which depend on both."""
    host = scene.array(sender, copy=receiver)
    return host[: max(1, len(host) - receiver % 2)] if scene.row.uneven and host.ndim else host


def _joined(hosts: list[Host]) -> Host:
    return np.concatenate(hosts) if hosts[0].ndim else np.stack(hosts)
