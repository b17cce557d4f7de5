"""Opens the backend `xla_processes`: joins the processes of a group through `jax.distributed`.  It starts no process.

JAX joins a group once in a process, so later openings use the same one; each opening has a control channel of its
own. JAX ends all processes of its group when one of them ends. This stops once all have connected, unless the
program has joined the group itself; then the control channel alone finds faults.
"""

import os
import time
from typing import Any, Final, NamedTuple

import jax
import numpy as np

from simstrategy.errors import BackendUnavailable, InvalidArgument, PeerFailed
from simstrategy.peers import (
    ControlChannel,
    Hello,
    Listener,
    Opening,
    address_towards,
    connect_all,
    free_port,
    new_token,
    rendezvous_at_rank_0,
    require_alike,
    require_timeout,
)
from simstrategy.short_repr import short_repr
from simstrategy_xla.backend import XlaBackend
from simstrategy_xla.collectives import Collectives
from simstrategy_xla.dispatch import Dispatcher
from simstrategy_xla.environment import Place, place_of, place_of_program
from simstrategy_xla.namespace import config
from simstrategy_xla.opening import make_host_devices
from simstrategy_xla.process_group import NAME, ProcessGroup
from simstrategy_xla.ranks import Spread

__all__ = ["open_processes"]


class _Group(NamedTuple):
    """The group that this process has joined."""

    place: Place
    replicas: int
    channel: ControlChannel
    """For later openings, which exchange their addresses on it."""
    dispatcher: Dispatcher


_JOINED: Final[list[_Group]] = []
"""At most one group: JAX keeps it until the process ends."""


def open_processes(
    *,
    replicas: int | None = None,
    rank: int | None = None,
    world_size: int | None = None,
    address: str | None = None,
    platform: str | None = None,
    timeout_s: float = 60.0,
) -> XlaBackend:
    """Opens this process's first `replicas` (default 1) devices of a group of processes, once all have come.

    rank, world_size, address: of the process, the number of processes, and "host:port" of rank 0; default RANK,
    WORLD_SIZE, MASTER_ADDR and MASTER_PORT. Where the program has called `jax.distributed.initialize`, its group
    is used. timeout_s: the seconds that any call waits for another process. The environment variable
    SIMSTRATEGY_TOKEN is a secret that all processes of the job share. Raises InvalidArgument for impossible
    settings, BackendUnavailable where JAX has started already or rank 0 cannot be reached, and PeerFailed, with
    the missing ranks, where others do not come in time.
    """
    count = 1 if replicas is None else replicas
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise InvalidArgument(
            f"The backend {NAME!r} takes a number of replicas of at least 1, got {short_repr(replicas)}."
        )
    require_timeout(timeout_s)
    if not _JOINED:
        _JOINED.append(_join(rank, world_size, address, platform, count, timeout_s))
    group = _JOINED[0]
    if count > group.replicas:
        raise BackendUnavailable(
            f"The backend {NAME!r} was first opened with {group.replicas} replicas in this process, and {count} are "
            f"asked for now: JAX makes its devices once. Start all processes anew, with the larger number first."
        )
    channel = _connect(group, count, timeout_s)
    try:
        return XlaBackend(
            _devices(platform, group.place.size, count), ProcessGroup(channel, group.dispatcher, timeout_s)
        )
    except BaseException:
        channel.close()
        raise


def _opening(place: Place, count: int, timeout_s: float) -> Opening:
    settings: dict[str, str | int] = {
        "different backends": NAME,
        "a different world_size": place.size,
        "different numbers of replicas": count,
    }
    deadline = time.monotonic() + timeout_s
    return Opening(NAME, place.rank, place.size, str(place), settings, timeout_s, deadline)


def _connect(group: _Group, count: int, timeout_s: float) -> ControlChannel:
    """Returns a control channel for one opening; all processes of the group open together."""
    place, opening = group.place, _opening(group.place, count, timeout_s)
    host, token = address_towards(place.host), new_token()
    listener = Listener(host, 0, token, place.size)
    try:
        hello = Hello(place.rank, opening.settings, host, listener.port, token.hex())
        notes = group.channel.exchange(hello.encode(), timeout_s)
        hellos = {}
        for rank, note in enumerate(notes):
            try:
                hellos[rank] = Hello.decode(note)
            except ValueError as error:
                raise PeerFailed(
                    f"{opening}: worker {rank} sent no valid hello ({error}). Open the same backend in every process, "
                    f"with one version of simstrategy."
                ) from error
        for other in hellos.values():
            require_alike(opening, other)
        return connect_all(opening, listener, hellos, b"")
    finally:
        listener.close()


def _devices(platform: str | None, size: int, count: int) -> tuple[Any, ...]:
    """Returns the first devices of each process, in the order of ranks.  Raises BackendUnavailable."""
    found = sorted(jax.devices(platform), key=lambda one: (one.process_index, one.id))
    by_process = [[one for one in found if one.process_index == process] for process in range(size)]
    if min(map(len, by_process)) < count:
        raise BackendUnavailable(
            f"The backend {NAME!r} was asked for {count} replicas in each process, and the processes have "
            f"{', '.join(str(len(one)) for one in by_process)} devices. Open it with fewer."
        )
    return tuple([one for devices in by_process for one in devices[:count]])


def _join(
    rank: int | None, size: int | None, address: str | None, platform: str | None, count: int, timeout_s: float
) -> _Group:
    """Makes the rendezvous, joins JAX's group, and lets XLA connect its devices."""
    starts_jax = not jax.distributed.is_initialized()
    place = place_of(rank, size, address, os.environ) if starts_jax else place_of_program()
    if place.size == 1:
        make_host_devices(count, platform)
    elif starts_jax:
        _require_unused()
    channel = rendezvous_at_rank_0(_opening(place, count, timeout_s), place.host, place.port, place.token)
    dispatcher = Dispatcher()
    try:
        if place.size > 1:
            if starts_jax:
                host = address_towards(place.host)
                service = f"{host}:{free_port(host)}" if place.rank == 0 else ""
                _initialize(channel.exchange(service.encode(), timeout_s)[0].decode(), place, count, timeout_s)
            together = ProcessGroup(channel, dispatcher, timeout_s)
            _connect_devices(together, _devices(platform, place.size, count), leave=starts_jax)
    except BaseException as error:
        reason = f"worker {place.rank} could not connect: {type(error).__name__}: {error}"
        channel.report_fault(reason, (place.rank,))
        channel.close()
        raise
    return _Group(place, count, channel, dispatcher)


def _require_unused() -> None:
    """Raises BackendUnavailable where JAX has started: it cannot join a group any more."""
    try:
        config.update("jax_num_cpu_devices", config.jax_num_cpu_devices + 1)
    except RuntimeError as error:
        raise BackendUnavailable(
            f"The backend {NAME!r} joins other processes before JAX's first use, and JAX has started already. Open it "
            f"before any other use of JAX, or call jax.distributed.initialize first."
        ) from error


def _initialize(address: str, place: Place, count: int, timeout_s: float) -> None:
    config.update("jax_num_cpu_devices", count)
    # Else JAX ends this process when another one does, and waits for all before it lets one go.
    config.update("jax_enable_recoverability", True)
    config.update("jax_enable_preemption_service", False)
    jax.distributed.initialize(
        address,
        place.size,
        place.rank,
        cluster_detection_method="deactivate",
        initialization_timeout=max(1, int(timeout_s)),
        # Else it listens on every interface of the machine.
        coordinator_bind_address=address,
    )


def _connect_devices(processes: ProcessGroup, devices: tuple[Any, ...], *, leave: bool) -> None:
    """Runs the first collective: before it, XLA reads the addresses of the other processes from JAX's service.

    leave: whether to leave JAX's service afterwards, where XLA does not need it.
    """
    local = [one for one in devices if one.process_index == processes.rank]
    ones = tuple([jax.device_put(np.ones(1, np.int32), one) for one in local])
    Collectives(Spread(devices, jax.block_until_ready), processes).total(ones, "SUM")
    if leave and devices[0].platform == "cpu":
        # JAX ends the processes that are connected to the service when rank 0 ends.
        processes.exchange(b"connected", None)
        if processes.rank:
            jax.distributed.shutdown()  # type: ignore[no-untyped-call]
        processes.exchange(b"left", None)
        if not processes.rank:
            jax.distributed.shutdown()  # type: ignore[no-untyped-call]
