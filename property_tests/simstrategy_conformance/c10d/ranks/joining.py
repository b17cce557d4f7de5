"""How a rank joins the default process group of a world: as the backend's vendor would have it joined."""

import functools
import os
from collections.abc import Callable
from datetime import timedelta
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import Store, TCPStore

from simstrategy_conformance.c10d.answers import Answer, Place

__all__ = ["PER_GPU", "device_of", "join", "share_gpus"]

PER_GPU = "SIMSTRATEGY_RANKS_PER_GPU"
"""The environment variable with the number of ranks that may have one GPU; 1 where it is not set."""
_LOOPBACK = "127.0.0.1"
_PATIENCE = 10
"""So much longer than the kit waits is the group's limit: a call that hangs ends by the kit's, on any machine."""
_SHARED = {"NCCL_MULTI_RANK_GPU_ENABLE": "1", "NCCL_NVLS_ENABLE": "0", "NCCL_MAX_CTAS": "2"}
_SHARED_FROM = (2, 30, 3)
"""The version of NCCL that lets several ranks have one GPU."""


def join(place: Place, channel: Connection, *, shared: Store | None) -> Answer:
    """Joins; returns "right", "missing" with what this machine has not, or "refused" with what was raised.

    shared: the store of ranks that are threads of one process.
    """
    try:
        if place.module:
            import_module(place.module)
        missing = _missing(place)
        if missing:
            return Answer("missing", missing)
        device = device_of(place.backend, place.rank)
        if device.type == "cuda":
            torch.cuda.set_device(device)
            share_gpus(place.rank, place.ranks)
        limit = timedelta(seconds=place.limit_s * _PATIENCE)
        if place.launched:
            dist.init_process_group(place.backend, timeout=limit)
        else:
            store = _store(place, channel) if shared is None else shared
            dist.init_process_group(place.backend, store=store, rank=place.rank, world_size=place.ranks, timeout=limit)
    except Exception as error:  # noqa: BLE001 - a backend may raise anything
        return Answer("refused", f"{type(error).__name__}: {error}")
    return Answer("right")


def device_of(backend: str, rank: int) -> torch.device:
    """Returns the device of a backend's tensors: the CPU where it takes them, else an accelerator of its first kind.

    Where ranks are more than GPUs, they have them in turn.
    """
    kinds = dist.Backend.backend_capability.get(backend, ["cpu"])
    if "cpu" in kinds:
        return torch.device("cpu")
    return torch.device(kinds[0], rank % max(torch.cuda.device_count(), 1) if kinds[0] == "cuda" else rank)


def share_gpus(rank: int, ranks: int) -> None:
    """Lets NCCL have several ranks on a GPU; before it could, each rank has a host of its own, as NCCL sees it.

    Does nothing where each rank has a GPU.
    """
    if ranks <= torch.cuda.device_count():
        return
    version: Any = vars(torch.cuda)["nccl"].version()
    if tuple(version) >= _SHARED_FROM:
        os.environ.update(_SHARED)
    else:
        os.environ.update({"NCCL_HOSTID": f"rank{rank}", "NCCL_SOCKET_IFNAME": "lo"})


def _missing(place: Place) -> str:
    """Returns what this machine lacks for a backend; "" where nothing is missing."""
    known = dist.Backend.backend_list
    if place.backend not in known:
        there = ", ".join(one for one in known if one != "undefined" and dist.is_backend_available(one))
        return (
            f"torch {torch.__version__} has no backend {place.backend!r}; here it has {there}. "
            f"Write c10d:MODULE:{place.backend} with the module that registers it."
        )
    if not dist.is_backend_available(place.backend):
        return f"torch {torch.__version__} was built without {place.backend}. {_BUILDS.get(place.backend, '')}".strip()
    if device_of(place.backend, 0).type == "cuda":
        text, gpus = os.environ.get(PER_GPU, "1"), torch.cuda.device_count()
        if not text.isdecimal() or int(text) < 1:
            raise ValueError(f"{PER_GPU} is {text!r}: set it to how many ranks may have one GPU, such as 2.")
        if gpus * int(text) < place.ranks:
            which = "A rank" if place.ranks == 1 else f"{place.ranks} ranks"
            return f"{which} of {place.backend} on {gpus} GPUs: more than {text} for each, which {PER_GPU} would allow."
    return ""


_BUILDS = {
    "mpi": "Only a build from source, on a machine with MPI, has it.",
    "ucc": "Only a build with UCC has it.",
    "nccl": "The builds for CUDA have it, and it needs a GPU for each rank.",
    "xccl": "The builds for Intel's GPUs have it.",
}


def _store(place: Place, channel: Connection) -> Store:
    """Returns a store on the loopback address: that of rank 0, whose port the others receive."""
    make: Callable[..., TCPStore] = functools.partial(
        TCPStore, _LOOPBACK, world_size=place.ranks, wait_for_workers=False
    )
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    if place.rank == 0:
        store = make(port=0, is_master=True)
        channel.send(store.port)
        return store
    return make(port=channel.recv(), is_master=False)
