"""Which backend has done the work: its object in the process group, and the events that it records of a call.

A name alone proves nothing: a factory may return another backend, and an object may pass its calls on. torch's own
backends record an event such as "gloo:all_reduce" of each call, whatever makes it.
"""

import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, Final, NamedTuple

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d
from torch.profiler import ProfilerActivity, profile

__all__ = ["Evidence", "events_of", "evidence_of", "others_of"]

_OF_TORCH: Final = {
    "ProcessGroupGloo": "gloo",
    "ProcessGroupNCCL": "nccl",
    "ProcessGroupMPI": "mpi",
    "ProcessGroupUCC": "ucc",
    "ProcessGroupXCCL": "xccl",
    "FakeProcessGroup": "fake",
}


class Evidence(NamedTuple):
    """get_backend: what torch reports.  object: the class that does the work, and where it is defined.

    called: the name that this object has. torchs: the backend of torch that this object is; "" for none. events: of the
    profiler, that name a backend of torch.
    """

    get_backend: str
    object: str
    called: str
    torchs: str
    events: tuple[str, ...]

    def fault(self, backend: str, expected: str) -> str:
        """Returns why another backend than the named one has done the work; "" where nothing shows one."""
        if self.get_backend != backend:
            return f"torch.distributed.get_backend() is {self.get_backend!r}"
        others = others_of(self.events, expected)
        if self.torchs not in ("", expected):
            return f"the object of the process group is {self.object}, which is torch's {self.torchs}"
        if others:
            return others
        if expected not in (backend, self.called):
            return f"the object of the process group is {self.object} and is called {self.called!r}, not {expected!r}"
        return ""

    def __str__(self) -> str:
        events = f"; events {', '.join(self.events)}" if self.events else "; no event of them names a backend of torch"
        worker = f"{self.object}, called {self.called!r}"
        return f"all_reduce and broadcast: get_backend() {self.get_backend!r}, {worker}{events}"


def evidence_of(device: torch.device, *, recorded: bool) -> Evidence:
    """Makes two calls of all ranks, and returns what they show.

    recorded: whether under the profiler, which cannot be used by several threads of one process at a time.
    """
    group: Any = dist.group.WORLD
    worker = group._get_backend(device) if type(group) is dist.ProcessGroup else group  # noqa: SLF001 - no public way
    tensor, other = torch.ones(2, device=device), torch.ones(2, device=device)

    def calls() -> None:
        dist.all_reduce(tensor)
        dist.broadcast(other, 0)

    events = events_of(calls, recorded=recorded)
    return Evidence(str(dist.get_backend()), _class(worker), _called(worker), _torchs(worker), events)


def events_of(calls: Callable[[], Any], *, recorded: bool = True) -> tuple[str, ...]:
    """Makes calls under the profiler, and returns the events that name a backend of torch; none if not recorded."""
    profiler = profile(activities=[ProfilerActivity.CPU], acc_events=True) if recorded else None
    with profiler or nullcontext():
        calls()
    keys = [] if profiler is None else [one.key for one in profiler.key_averages()]
    return tuple(sorted({key for key in keys if key.startswith(tuple(f"{one}:" for one in _OF_TORCH.values()))}))


def others_of(events: Sequence[str], expected: str) -> str:
    """Returns which backend of torch has done the work in place of the one expected, in words; "" for none."""
    others = sorted({one for one in events if one.partition(":")[0] != expected})
    if not others:
        return ""
    return f"the work was done by {others[0].partition(':')[0]}: the profiler has recorded {', '.join(others)}"


def _class(worker: Any) -> str:
    kind = type(worker)
    module = sys.modules.get(kind.__module__)
    place = "" if module is None else vars(module).get("__file__") or ""
    return f"{kind.__module__}.{kind.__qualname__}" + (f" of {place.rpartition('/')[2]}" if place else "")


def _called(worker: Any) -> str:
    """Returns the name of a backend's object; a group in Python has another function for it."""
    group: Any = worker  # torch's stub has no name of groups that are made in Python
    try:
        return str(group.getBackendName() if isinstance(worker, dist.ProcessGroup) else worker.name())
    except (RuntimeError, TypeError):
        return ""


def _torchs(worker: Any) -> str:
    for name, backend in _OF_TORCH.items():
        kind = vars(c10d).get(name)
        if kind is not None and isinstance(worker, kind):
            return backend
    return ""
