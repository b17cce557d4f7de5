"""Calls between two members, of objects, and the barrier.

Source: the documentation of `torch.distributed`, sections "Point-to-point communication", "Synchronous and asynchronous
collective operations" and "Collective functions".
"""

import time
from typing import Any, Final

import torch.distributed as dist

from simstrategy_conformance.c10d.answers import Wrong
from simstrategy_conformance.c10d.ranks.scene import Scene, refusing
from simstrategy_conformance.c10d.ranks.tensors import Held

__all__ = [
    "all_gather_object",
    "barrier",
    "batch_isend_irecv",
    "broadcast_object_list",
    "gather_object",
    "isend_irecv",
    "recv_any",
    "scatter_object_list",
    "send_recv",
    "send_to_self",
    "tags",
]

_LATE_S: Final = 0.02


def send_recv(scene: Scene) -> int:
    """Examines send and recv: the root sends each other member a tensor of its own."""
    root, others = scene.root, [one for one in range(scene.size) if one != scene.root]
    for other in others:
        host = scene.array(root, copy=other)
        if scene.me == root:
            held = scene.hold(host)
            refusing(dist.send, held.tensor, scene.members[other], scene.group)
            scene.require_kept(held, host)
        elif scene.me == other:
            held = scene.blank(host.shape)
            source = refusing(dist.recv, held.tensor, scene.members[root], scene.group)
            scene.require(held, host, "what was received")
            if source != scene.members[root]:
                raise Wrong(f"recv returned {source}, and rank {scene.members[root]} has sent")
    return 0


def isend_irecv(scene: Scene) -> int:
    """Examines isend and irecv: every member sends every other one a tensor, all at once."""
    sent: dict[int, Held] = {}  # their memory is read until the works are complete
    works, received = [], {}
    for other in _others(scene):
        held, due = scene.hold(scene.array(scene.me, copy=other)), scene.blank(scene.array(other).shape)
        sent[other], received[other] = held, due
        where = scene.members[other]
        works.append(refusing(dist.irecv, due.tensor, where, scene.group))
        works.append(refusing(dist.isend, held.tensor, where, scene.group))
    for work in works:
        refusing(work.wait)
    return _require_exchanged(scene, sent, received)


def batch_isend_irecv(scene: Scene) -> int:
    """Examines batch_isend_irecv with the same tensors; first all that is received, or first all that is sent."""
    sends, receives, received = [], [], {}
    sent: dict[int, Held] = {}
    for other in _others(scene):
        held, due = scene.hold(scene.array(scene.me, copy=other)), scene.blank(scene.array(other).shape)
        sent[other], received[other] = held, due
        where = scene.members[other]
        sends.append(refusing(dist.P2POp, dist.isend, held.tensor, where, scene.group))
        receives.append(refusing(dist.P2POp, dist.irecv, due.tensor, where, scene.group))
    both = [*sends, *receives] if scene.me % 2 else [*receives, *sends]
    for work in refusing(dist.batch_isend_irecv, both) if both else ():
        refusing(work.wait)
    return _require_exchanged(scene, sent, received)


def recv_any(scene: Scene) -> int:
    """Examines recv without a source: the root receives one tensor of every other member, and learns whose it is.

    A barrier ends it, since a backend may choose a message when all ranks have made their next call. A row is not made
    again: where the barrier is wrong, a message of the second call might be received by the first one.
    """
    root, left = scene.root, set(_others(scene))
    if scene.me != root:
        held = scene.hold(scene.array(scene.me))
        try:
            refusing(dist.send, held.tensor, scene.members[root], scene.group)
        finally:  # also where it is refused: the root is there as well
            _pass_barrier(scene)
        return 0
    try:
        while left:
            due = scene.blank(scene.array(root).shape)
            source = refusing(dist.recv, due.tensor, group=scene.group)
            if source not in [scene.members[one] for one in left]:
                raise Wrong(f"recv returned the source {source}, and {[scene.members[one] for one in left]} were left")
            index = scene.members.index(source)
            left.remove(index)
            scene.require(due, scene.array(index), f"what was received of rank {source}")
    finally:
        _pass_barrier(scene)
    return 0


def _pass_barrier(scene: Scene) -> None:
    refusing(dist.barrier, *(() if scene.group is None else (scene.group,)))


def send_to_self(scene: Scene) -> int:
    """Examines isend and irecv of a rank with itself, which isend is documented to allow."""
    host, where = scene.array(scene.me), scene.members[scene.me]
    held, due = scene.hold(host), scene.blank(host.shape)
    works = [
        refusing(dist.irecv, due.tensor, where, scene.group),
        refusing(dist.isend, held.tensor, where, scene.group),
    ]
    for work in works:
        refusing(work.wait)
    scene.require(due, host, "what was received")
    return 0


def tags(scene: Scene) -> int | None:
    """Examines tags: of two messages between the same members the one with the tag is received."""
    root, other = scene.root, (scene.root + 1) % scene.size
    hosts = [scene.array(root, copy=copy) for copy in range(2)]
    if scene.size == 1 or scene.me not in (root, other):
        return None
    if scene.me == root:
        held = [scene.hold(host) for host in hosts]
        where = scene.members[other]
        works = [refusing(dist.isend, held[copy].tensor, where, scene.group, tag=copy + 1) for copy in range(2)]
        for work in works:
            refusing(work.wait)
        return 0
    due = [scene.blank(host.shape) for host in hosts]
    for copy in (1, 0):
        refusing(dist.recv, due[copy].tensor, scene.members[root], scene.group, tag=copy + 1)
    for copy in range(2):
        scene.require(due[copy], hosts[copy], f"the message with the tag {copy + 1}")
    return 0


def all_gather_object(scene: Scene) -> int:
    """Examines all_gather_object: every member has a list of all members' objects, of other sizes."""
    found: list[Any] = [None] * scene.size
    refusing(dist.all_gather_object, found, _object(scene, scene.me), scene.group)
    _require_object(found, _objects(scene))
    return 0


def broadcast_object_list(scene: Scene) -> int:
    """Examines broadcast_object_list: every member's list holds the source's objects."""
    wanted = [_object(scene, scene.root), "end"]
    shared = wanted if scene.me == scene.root else [None, None]
    refusing(dist.broadcast_object_list, shared, scene.members[scene.root], scene.group)
    _require_object(shared, [_object(scene, scene.root), "end"])
    return 0


def gather_object(scene: Scene) -> int:
    """Examines gather_object: the destination has a list of all members' objects."""
    gathered: list[Any] | None = [None] * scene.size if scene.me == scene.root else None
    refusing(dist.gather_object, _object(scene, scene.me), gathered, scene.members[scene.root], scene.group)
    _require_object(gathered, _objects(scene) if scene.me == scene.root else None)
    return 0


def scatter_object_list(scene: Scene) -> int:
    """Examines scatter_object_list: member i has object i of the source's list."""
    output: list[Any] = [None]
    given = _objects(scene) if scene.me == scene.root else None
    refusing(dist.scatter_object_list, output, given, scene.members[scene.root], scene.group)
    _require_object(output, [_object(scene, scene.me)])
    return 0


def barrier(scene: Scene) -> int:
    """Examines barrier: no member leaves before all have entered."""
    if scene.me == scene.root:
        time.sleep(_LATE_S)
    scene.marks.put(f"{scene.number}-{scene.me}")
    _pass_barrier(scene)
    missing = [one for one in range(scene.size) if not scene.marks.has(f"{scene.number}-{one}")]
    if missing:
        raise Wrong(f"left before rank {scene.members[missing[0]]} had entered")
    return 0


def _others(scene: Scene) -> list[int]:
    return [one for one in range(scene.size) if one != scene.me]


def _require_exchanged(scene: Scene, sent: dict[int, Held], received: dict[int, Held]) -> int:
    for other, held in sent.items():
        scene.require_kept(held, scene.array(scene.me, copy=other))
    for other, held in received.items():
        scene.require(held, scene.array(other, copy=scene.me), f"what was received of rank {scene.members[other]}")
    return 0


def _object(scene: Scene, index: int) -> dict[str, Any]:
    size = scene.row.lengths.size
    return {
        "rank": index,
        "repeat": scene.repeat,
        "text": "é" * (size * (index + 1)),
        "nest": [(index, None, b"\0" * (size % 7))],
    }


def _objects(scene: Scene) -> list[dict[str, Any]]:
    return [_object(scene, index) for index in range(scene.size)]


def _require_object(found: Any, expected: Any) -> None:
    if found != expected:
        raise Wrong(f"expected {str(expected)[:200]}, found {str(found)[:200]}")
