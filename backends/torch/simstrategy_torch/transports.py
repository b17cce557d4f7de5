"""How tensors go between processes: gloo on CPUs, NCCL on GPUs.  It makes no rendezvous.

This is the only file that uses PyTorch's private names, and names that some builds of PyTorch do not have.
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
from simstrategy.peers import ControlChannel, address_towards
from simstrategy_torch.placement import gpu_of
from simstrategy_torch.processes import Group, Transport

__all__ = ["GLOO", "NCCL", "own_address"]

distributed: Any = _typed  # for PyTorch's types leave out most of what is used here

_THREADS: Final = 2
_SPIN_S: Final = 0.002
_PAUSE_S: Final = 0.0002
_LOOK_S: Final = 0.1
"""How often a call that takes longer looks for a fault."""
_ADDRESS_OF: Final = 0x8915
"""Linux: SIOCGIFADDR."""


def own_address(host: str) -> str:
    """Returns this machine's address on the route to a host, or that of the interface in GLOO_SOCKET_IFNAME."""
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
    return address_towards(host)


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


def _wait_for_gloo(start: Callable[[], Any], _channel: ControlChannel, _timeout_s: float) -> None:
    """Waits.  Gloo ends the call where a connection ends, and at its time-out."""
    start().wait()


def _drop_reference(_group: Group) -> None:
    """Does nothing: gloo's connections end with the last reference to the group, which the backend drops."""


def _connect_nccl(store: Any, rank: int, size: int, _host: str, timeout_s: float, placement: str) -> Group:
    options = distributed.ProcessGroupNCCL.Options()
    options._timeout = timedelta(seconds=timeout_s)  # noqa: SLF001 - PyTorch has no other name for it
    torch.cuda.set_device(placement)
    return distributed.ProcessGroupNCCL(store, rank, size, options)


def _wait_for_nccl(start: Callable[[], Any], channel: ControlChannel, timeout_s: float) -> None:
    """Waits on the host and looks for faults: on the GPU, a kernel waits for missing processes without a limit."""
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
                if (reason := channel.find_fault()) is not None:
                    raise RuntimeError(reason)
            time.sleep(_PAUSE_S)
        work.wait()
    finally:
        del work


def _abort(group: Group) -> None:
    """Ends NCCL's kernels, which may wait for processes that have ended, and its connections."""
    group.abort()


GLOO: Final = Transport(
    name="gloo",
    not_summed=frozenset((torch.bool, torch.int16)),
    placement=_on_cpu,
    connect=_connect_gloo,
    wait=_wait_for_gloo,
    shut=_drop_reference,
)
NCCL: Final = Transport(
    name="nccl",
    not_summed=frozenset((torch.bool, torch.int16, torch.complex64, torch.complex128)),
    placement=gpu_of,
    connect=_connect_nccl,
    wait=_wait_for_nccl,
    shut=_abort,
)
