"""Finds the other processes and connects to them: opens the backends `gloo` and `nccl`.  It launches nothing.

Every opening has connections of its own, so a program's use of `torch.distributed` and ours never mix. On
a loopback address nothing listens on any other interface. Stores carry plain bytes; none of what PyTorch
offers for objects, which would unpickle them, is used.
"""

import os
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from torch import distributed as _typed

from simstrategy.errors import BackendUnavailable, InvalidArgument
from simstrategy_torch.environment import LOOPBACK, Place, place_of
from simstrategy_torch.introductions import LINGER_S, Opening, introduce
from simstrategy_torch.local import counted
from simstrategy_torch.mesh import Mesh
from simstrategy_torch.processes import FOLDED_BYTES_MAX, Group, ProcessBackend, Transport
from simstrategy_torch.stores import answered, open_store
from simstrategy_torch.transports import GLOO, NCCL, own_address

__all__ = ["open_gloo", "open_nccl", "open_processes"]

distributed: Any = _typed  # for PyTorch's types leave out most of what is used here

_SLACK_S: Final = 1.0
"""What a store itself, which has a limit of its own, gets before it is given up."""


def open_gloo(
    *,
    replicas: int | None = None,
    rank: int | None = None,
    world_size: int | None = None,
    init_method: str | None = None,
    timeout_s: float = 60.0,
    folded_bytes_max: int = FOLDED_BYTES_MAX,
) -> ProcessBackend:
    """Opens this process's replicas, on its CPU, of a group of processes; returns when all of them have come.

    replicas: of each process, default 1. rank, world_size: of the process and of all; default what torchrun,
    TF_CONFIG, srun or mpirun set; with neither, the group that the program has initialised in
    `torch.distributed`, else a world of this process alone. init_method: where they meet, "env://" (the
    default: as the launcher says, or MASTER_ADDR and MASTER_PORT), "tcp://host:port" or "file:///path", a file
    that is removed once all have met. timeout_s: how long any call waits for another process.
    folded_bytes_max: sums of so many bytes, of all ranks together, are gathered and added in rank order, to the
    simulator's bits; larger ones are the process group's own all-reduce, which adds in an order of its own.

    Raises InvalidArgument for impossible settings, BackendUnavailable where the meeting place cannot be
    had, and PeerFailed, with the missing ranks, where others do not come in time.
    """
    return open_processes(GLOO, replicas, rank, world_size, init_method, timeout_s, folded_bytes_max)


def open_nccl(
    *,
    replicas: int | None = None,
    rank: int | None = None,
    world_size: int | None = None,
    init_method: str | None = None,
    timeout_s: float = 60.0,
    folded_bytes_max: int = FOLDED_BYTES_MAX,
) -> ProcessBackend:
    """Opens this process's replicas, on one GPU, of a group of processes.  Settings as for `open_gloo`.

    The GPU is that of the process's number on its machine (LOCAL_RANK and its like). Raises also
    BackendUnavailable where there is no GPU.
    """
    return open_processes(NCCL, replicas, rank, world_size, init_method, timeout_s, folded_bytes_max)


def open_processes(
    transport: Transport,
    replicas: int | None,
    rank: int | None,
    world_size: int | None,
    init_method: str | None,
    timeout_s: float,
    folded_bytes_max: int = FOLDED_BYTES_MAX,
) -> ProcessBackend:
    """Opens this process's part of a group whose tensors travel by `transport`."""
    count = counted(transport.name, replicas)
    if not isinstance(timeout_s, (int, float)) or not timeout_s > 0:
        raise InvalidArgument(f"timeout_s is a number of seconds above 0, got {timeout_s!r}.")
    if not isinstance(folded_bytes_max, int) or isinstance(folded_bytes_max, bool) or folded_bytes_max < 0:
        raise InvalidArgument(f"folded_bytes_max is a number of bytes of at least 0, got {folded_bytes_max!r}.")
    within = rank is None and world_size is None and init_method is None and distributed.is_initialized()
    if within:
        local = os.environ.get("LOCAL_RANK", "")
        number, size = distributed.get_rank(), distributed.get_world_size()
        place = Place(number, size, int(local) if local.isdecimal() else number, _host_of_program(), 0, "")
    else:
        place = place_of(transport.name, os.environ, rank, world_size, init_method)
    placement = transport.placement(place.local_rank)
    opening = Opening(transport.name, place, count, folded_bytes_max, timeout_s, time.monotonic() + timeout_s)
    group, mesh, shut = (_connect_within if within else _connect)(transport, opening, placement)
    return ProcessBackend(
        transport,
        group,
        mesh,
        rank=place.rank,
        size=place.size,
        placement=placement,
        timeout_s=timeout_s,
        shut=shut,
        replicas=count,
        folded_bytes_max=folded_bytes_max,
    )


_Connected = tuple[Group, Mesh, Callable[[Group], None]]


def _host_of_program() -> str:
    return os.environ.get("MASTER_ADDR") or LOOPBACK


def _connect_within(transport: Transport, opening: Opening, _placement: str) -> _Connected:
    """Connects the processes of the program's own group once more."""
    group = distributed.new_group(backend=transport.name, timeout=timedelta(seconds=opening.timeout_s))
    own = distributed.distributed_c10d._get_default_store()  # noqa: SLF001 - PyTorch has no other name for it
    store = distributed.PrefixStore(f"simstrategy/{group.group_name}", own)
    try:
        mesh = introduce(store, opening, own_address(opening.place.host))
    except BaseException:
        distributed.destroy_process_group(group)
        raise
    return group, mesh, distributed.destroy_process_group


def _connect(transport: Transport, opening: Opening, placement: str) -> _Connected:
    """Connects to all other processes."""
    place = opening.place
    while True:
        try:
            store = answered(lambda: open_store(place, opening.left_s), place, opening.left_s + _SLACK_S)
        except (RuntimeError, OSError) as error:
            raise _not_met(opening, error) from error
        try:
            return *_join(transport, opening, store, placement), transport.shut
        except TimeoutError as error:
            raise _not_met(opening, error) from error
        except distributed.DistNetworkError as error:
            # What it met at was closed: an earlier opening's, which rank 0 had not yet closed. Meet at the next.
            if time.monotonic() >= opening.deadline:
                raise BackendUnavailable(
                    f"{opening}: rank 0 ended while others came to {place}. Read its output, and start every rank anew."
                ) from error


def _not_met(opening: Opening, error: Exception) -> BackendUnavailable:
    return BackendUnavailable(
        f"{opening}, cannot meet the others at {opening.place}: {str(error).strip().splitlines()[0]} See that rank 0 "
        f"runs there, that the address leads to it, and that no other program has the port."
    )


def _join(transport: Transport, opening: Opening, store: Any, placement: str) -> tuple[Group, Mesh]:
    place, timeout_s = opening.place, opening.timeout_s
    # An attempt of torchrun's finds the keys of the one that failed; each opening of a program has its own.
    run = f"simstrategy/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}"

    def meet() -> tuple[Any, Mesh]:
        here = distributed.PrefixStore(f"{run}/{store.add(f'{run}/openings/{place.rank}', 1)}", store)
        return here, introduce(here, opening, own_address(place.host))

    here, mesh = answered(meet, place, opening.left_s + LINGER_S + _SLACK_S)
    try:
        group = transport.connect(here, place.rank, place.size, place.host, timeout_s, placement)
        # Rank 0, which may hold what they meet at, must not go on and close it while others connect.
        mesh.exchange(b"connected", timeout_s)
        if place.file:
            if place.rank == 0:
                Path(place.file).unlink(missing_ok=True)
            mesh.exchange(b"removed", timeout_s)
    except distributed.DistNetworkError:
        mesh.close()
        raise
    except BaseException as error:
        mesh.fail(f"worker {place.rank} could not connect: {type(error).__name__}: {error}", (place.rank,))
        mesh.close()
        raise
    return group, mesh
