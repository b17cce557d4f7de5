"""Opens the backends `gloo` and `nccl`: finds the other processes and connects to them.  It starts no process.

Every opening makes connections for itself alone, so it never shares messages with the program's use of
`torch.distributed`. With a loopback address nothing listens on any other interface. Stores carry plain bytes;
PyTorch's functions for objects, which unpickle, are not used.
"""

import os
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from torch import distributed as _typed

from simstrategy.errors import BackendUnavailable, InvalidArgument, SimStrategyError
from simstrategy.peers import LOOPBACK, ControlChannel, Opening, require_timeout
from simstrategy.short_repr import short_repr
from simstrategy_torch.environment import Place, place_of
from simstrategy_torch.local import counted
from simstrategy_torch.processes import FOLDED_BYTES_MAX, Group, ProcessBackend, Transport
from simstrategy_torch.store_rendezvous import LINGER_S, rendezvous_in_store
from simstrategy_torch.stores import open_store, within_limit
from simstrategy_torch.transports import GLOO, NCCL, own_address

__all__ = ["open_gloo", "open_nccl", "open_processes"]

distributed: Any = _typed  # for PyTorch's types leave out most of what is used here

_SLACK_S: Final = 1.0
"""Added to a store's own limit, which it normally keeps itself."""
_PAUSE_S: Final = 0.05
"""Between two attempts, where the store is closed."""


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

    replicas: of each process, default 1. rank, world_size: of the process and the number of processes; default:
    what torchrun, TF_CONFIG, srun or mpirun set, else the group that the program has initialised in
    `torch.distributed`, else a group of this process alone. init_method: the rendezvous, "env://" (the
    default: the launcher's address, or MASTER_ADDR and MASTER_PORT), "tcp://host:port" or "file:///path", a
    file that is removed once all have come. timeout_s: the seconds that any call waits for another process.
    folded_bytes_max: sums of at most so many bytes, of all ranks together, are gathered and added in rank order,
    to the simulator's bits; the process group's all-reduce adds larger ones, in another order. The environment
    variable SIMSTRATEGY_TOKEN is a secret that all processes of the job share.

    Raises InvalidArgument for impossible settings, BackendUnavailable where the rendezvous cannot be
    reached, and PeerFailed, with the missing ranks, where others do not come in time.
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

    The GPU has the process's number on its machine (LOCAL_RANK, SLURM_LOCALID, …). Raises also
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
    """Opens this process's part of a group whose tensors go through `transport`."""
    count = counted(transport.name, replicas)
    require_timeout(timeout_s)
    if not isinstance(folded_bytes_max, int) or isinstance(folded_bytes_max, bool) or folded_bytes_max < 0:
        raise InvalidArgument(
            f"folded_bytes_max is a number of bytes of at least 0, got {short_repr(folded_bytes_max)}."
        )
    within = rank is None and world_size is None and init_method is None and distributed.is_initialized()
    if within:
        local = os.environ.get("LOCAL_RANK", "")
        number, size = distributed.get_rank(), distributed.get_world_size()
        place = Place(number, size, int(local) if local.isdecimal() else number, _host_of_program(), 0, "")
    else:
        place = place_of(transport.name, os.environ, rank, world_size, init_method)
    placement = transport.placement(place.local_rank)
    settings: dict[str, str | int] = {
        "different backends": transport.name,
        "a different world_size": place.size,
        "different numbers of replicas": count,
        "a different folded_bytes_max": folded_bytes_max,
    }
    deadline = time.monotonic() + timeout_s
    opening = Opening(transport.name, place.rank, place.size, str(place), settings, timeout_s, deadline)
    group, channel, shut = (_connect_within if within else _connect)(transport, opening, place, placement)
    return ProcessBackend(
        transport,
        group,
        channel,
        rank=place.rank,
        size=place.size,
        placement=placement,
        timeout_s=timeout_s,
        shut=shut,
        replicas=count,
        folded_bytes_max=folded_bytes_max,
    )


_Connected = tuple[Group, ControlChannel, Callable[[Group], None]]


def _host_of_program() -> str:
    return os.environ.get("MASTER_ADDR") or LOOPBACK


def _connect_within(transport: Transport, opening: Opening, place: Place, _placement: str) -> _Connected:
    """Connects the processes of the program's group once more, beside that group."""
    group = distributed.new_group(backend=transport.name, timeout=timedelta(seconds=opening.timeout_s))
    own = distributed.distributed_c10d._get_default_store()  # noqa: SLF001 - PyTorch has no other name for it
    store = distributed.PrefixStore(f"simstrategy/{group.group_name}", own)
    try:
        channel = rendezvous_in_store(store, opening, own_address(place.host))
    except BaseException:
        distributed.destroy_process_group(group)
        raise
    return group, channel, distributed.destroy_process_group


def _connect(transport: Transport, opening: Opening, place: Place, placement: str) -> _Connected:
    """Connects to all other processes."""
    while True:
        try:
            store = within_limit(lambda: open_store(place, opening.left_s), place, opening.left_s + _SLACK_S)
        except (RuntimeError, OSError) as error:
            raise _not_reached(opening, error) from error
        try:
            return *_join(transport, opening, place, store, placement), transport.shut
        except SimStrategyError:
            raise
        except TimeoutError as error:
            raise _not_reached(opening, error) from error
        except distributed.DistNetworkError as error:
            # The store was closed: it belonged to an earlier opening that rank 0 had not closed yet.  Try the next.
            if time.monotonic() >= opening.deadline:
                raise BackendUnavailable(
                    f"{opening}: rank 0 ended while others came to {place}. Read its output, and start every rank anew."
                ) from error
            time.sleep(_PAUSE_S)
        except Exception as error:  # PyTorch raises errors of many kinds for a value that another program has set
            raise BackendUnavailable(
                f"{opening}: the values at {place} are no rendezvous of this job ({type(error).__name__}: "
                f"{_first_line(error)}). See that only processes of this job use it, and start every rank anew."
            ) from error


def _not_reached(opening: Opening, error: Exception) -> BackendUnavailable:
    return BackendUnavailable(
        f"{opening}, cannot reach the others at {opening.address}: {_first_line(error)} See that rank 0 runs there, "
        f"that the address leads to it, and that no other program has the port."
    )


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _join(
    transport: Transport, opening: Opening, place: Place, store: Any, placement: str
) -> tuple[Group, ControlChannel]:
    timeout_s = opening.timeout_s
    # The store may hold keys of an attempt of torchrun that failed, and of the program's other openings.
    run = f"simstrategy/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}"

    def rendezvous() -> tuple[Any, ControlChannel]:
        keys = distributed.PrefixStore(f"{run}/{store.add(f'{run}/openings/{place.rank}', 1)}", store)
        return keys, rendezvous_in_store(keys, opening, own_address(place.host), is_file=bool(place.file))

    keys, channel = within_limit(rendezvous, place, opening.left_s + LINGER_S + _SLACK_S)
    try:
        group = transport.connect(keys, place.rank, place.size, place.host, timeout_s, placement)
        # Rank 0 may serve the store, and must not close it while others still connect.
        channel.exchange(b"connected", timeout_s)
        if place.file:
            if place.rank == 0:
                Path(place.file).unlink(missing_ok=True)
            channel.exchange(b"removed", timeout_s)
    except distributed.DistNetworkError:
        channel.close()
        raise
    except BaseException as error:
        found = channel.find_fault()
        reason = f"worker {place.rank} could not connect: {type(error).__name__}: {_first_line(error)}"
        channel.report_fault(reason, (place.rank,))
        channel.close()
        if isinstance(error, SimStrategyError) or not isinstance(error, Exception):
            raise
        raise channel.peer_failed("open", found or reason) from error
    return group, channel
