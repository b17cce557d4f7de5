"""What tensors travel by between processes: gloo on CPUs, NCCL on GPUs.  It finds nobody and sends nothing.

All that PyTorch calls private, or lacks in one of its builds, is used here alone.
"""

import fcntl
import os
import socket
import struct
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

import torch
from torch import distributed as _typed

from simstrategy.errors import BackendUnavailable
from simstrategy_torch.mesh import Mesh
from simstrategy_torch.placement import gpu_of
from simstrategy_torch.processes import Group, Transport

__all__ = ["GLOO", "NCCL", "own_address"]

distributed: Any = _typed  # for PyTorch's types leave out most of what is used here

_THREADS: Final = 2
_SPIN_S: Final = 0.002
_PAUSE_S: Final = 0.0002
_LOOK_S: Final = 0.1
"""How often a call that takes longer looks for who is gone."""
_ADDRESS_OF: Final = 0x8915
"""Linux: SIOCGIFADDR."""


def own_address(host: str) -> str:
    """Returns this machine's address on the way to a host, or that of the interface in GLOO_SOCKET_IFNAME."""
    interface = os.environ.get("GLOO_SOCKET_IFNAME", "").partition(",")[0]
    if interface:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                found = fcntl.ioctl(probe, _ADDRESS_OF, struct.pack("256s", interface.encode()[:15]))
            except OSError as error:
                raise BackendUnavailable(
                    f"GLOO_SOCKET_IFNAME names {interface!r}, and this machine has no such interface with an address "
                    f"({error}). `ip address` lists them."
                ) from error
        return socket.inet_ntoa(found[20:24])
    family, kind, _, _, address = socket.getaddrinfo(host, 9, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind) as probe:
        probe.connect(address)  # sends nothing: it looks up the route
        own: str = probe.getsockname()[0]
        return own


def _on_cpu(_local_rank: int) -> str:
    return "cpu"


def _connect_gloo(store: Any, rank: int, size: int, host: str, timeout_s: float, _placement: str) -> Group:
    options = distributed.ProcessGroupGloo._Options()  # noqa: SLF001 - PyTorch has no other name for it
    options._timeout = timedelta(seconds=timeout_s)  # noqa: SLF001
    options._threads = _THREADS  # noqa: SLF001
    make = distributed.ProcessGroupGloo.create_device
    interfaces = os.environ.get("GLOO_SOCKET_IFNAME", "")
    options._devices = (  # noqa: SLF001
        [make(interface=interface) for interface in interfaces.split(",")]
        if interfaces
        else [make(hostname=own_address(host))]
    )
    return distributed.ProcessGroupGloo(store, rank, size, options)


def _wait_for_gloo(start: Callable[[], Any], _mesh: Mesh, _timeout_s: float) -> None:
    """Waits; gloo itself notices who is gone, and ends at its time-out."""
    start().wait()


def _let_go(_group: Group) -> None:
    """Does nothing: gloo's connections end with the last reference to the group, which the backend drops."""


def _connect_nccl(store: Any, rank: int, size: int, _host: str, timeout_s: float, placement: str) -> Group:
    options = distributed.ProcessGroupNCCL.Options()
    options._timeout = timedelta(seconds=timeout_s)  # noqa: SLF001 - PyTorch has no other name for it
    torch.cuda.set_device(placement)
    return distributed.ProcessGroupNCCL(store, rank, size, options)


def _wait_for_nccl(start: Callable[[], Any], mesh: Mesh, timeout_s: float) -> None:
    """Waits on the host, for on the GPU nobody could tell who is gone: a kernel waits for its peers for ever."""
    work = start()
    try:
        begun = looked = time.monotonic()
        while not work.is_completed():
            now = time.monotonic()
            if now - begun < _SPIN_S:
                continue
            if now - begun > timeout_s:
                raise RuntimeError(f"it did not end within {timeout_s:g} s")
            if now - looked > _LOOK_S:
                looked = now
                if (gone := mesh.look()) is not None:
                    raise RuntimeError(gone)
            time.sleep(_PAUSE_S)
        work.wait()
    finally:
        del work


def _abort(group: Group) -> None:
    """Ends NCCL's kernels, which wait for processes that will not come, and its connections."""
    group.abort()


GLOO: Final = Transport(
    name="gloo",
    not_summed=frozenset((torch.bool, torch.int16)),
    placement=_on_cpu,
    connect=_connect_gloo,
    wait=_wait_for_gloo,
    shut=_let_go,
)
NCCL: Final = Transport(
    name="nccl",
    not_summed=frozenset((torch.bool, torch.int16, torch.complex64, torch.complex128)),
    placement=gpu_of,
    connect=_connect_nccl,
    wait=_wait_for_nccl,
    shut=_abort,
)
