"""Joins the processes of a group through `jax.distributed`: opens the backend `xla_processes`.  It launches nothing.

JAX joins a group once in a process, so a later opening has the same one. JAX's own watch over the processes ends
those that live when one dies; where the program has not asked for it, it is over when all have met, and `peers.py`
watches instead.
"""

import json
import os
import time
from typing import Any, Final

import jax
import numpy as np
from jax.experimental import multihost_utils

from simstrategy.errors import BackendUnavailable, InvalidArgument
from simstrategy_xla.backend import Processes, XlaBackend
from simstrategy_xla.collectives import total
from simstrategy_xla.meeting import LOOPBACK, Place, free_port, meet, own_address
from simstrategy_xla.namespace import config
from simstrategy_xla.opening import make_host_devices
from simstrategy_xla.peers import NAME, Peers
from simstrategy_xla.ranks import Spread, Wait

__all__ = ["open_processes"]

_SPIN_S: Final = 0.002
"""How long one looks for the end of a program without a pause."""
_PAUSE_S: Final = 0.0002
_GRACE_S: Final = 2.0
"""How long what a process has sent that has ended may still be under way, or the news of its end."""
_ADDRESS_BYTES: Final = 64
_JOINED: Final[list[tuple[Peers, int]]] = []
"""This process's group and replicas, once it has joined one: as JAX has it, one for the life of a process."""


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

    rank, world_size, address: of the process, of all, and "host:port" of rank 0; default RANK, WORLD_SIZE,
    MASTER_ADDR and MASTER_PORT. Where the program has called `jax.distributed.initialize`, its group is taken.
    timeout_s: how long any call waits for another process. Raises InvalidArgument for impossible settings,
    BackendUnavailable where JAX has started already, and PeerFailed where others do not come in time.
    """
    count = 1 if replicas is None else replicas
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise InvalidArgument(f"The backend {NAME!r} takes a number of replicas of at least 1, got {replicas!r}.")
    if not isinstance(timeout_s, (int, float)) or not timeout_s > 0:
        raise InvalidArgument(f"timeout_s is a number of seconds above 0, got {timeout_s!r}.")
    if not _JOINED:
        _JOINED.append((_joined(rank, world_size, address, platform, count, timeout_s), count))
    peers, first = _JOINED[0]
    if count > first:
        raise BackendUnavailable(
            f"The backend {NAME!r} was first opened with {first} replicas in this process, and {count} are asked for "
            f"now: JAX makes its devices once. Start all processes anew, with the larger number first."
        )
    _require_equal(peers, count, timeout_s)
    return XlaBackend(_devices(platform, peers.size, count), Processes(peers, _wait(peers, timeout_s), timeout_s))


def _require_equal(peers: Peers, count: int, timeout_s: float) -> None:
    """Raises InvalidArgument, in every process, where they ask for different numbers of replicas."""
    counts = [json.loads(one) for one in peers.exchange(json.dumps(count).encode(), timeout_s)]
    if any(one != count for one in counts):
        raise InvalidArgument(
            f"The backend {NAME!r} was opened with different numbers of replicas, by rank: "
            f"{', '.join(map(str, counts))}. Open it with the same number in every process."
        )


def _devices(platform: str | None, size: int, count: int) -> tuple[Any, ...]:
    """Returns the first devices of each process, in the order of ranks.  Raises BackendUnavailable."""
    found = sorted(jax.devices(platform), key=lambda one: (one.process_index, one.id))
    own = [[one for one in found if one.process_index == process] for process in range(size)]
    if min(map(len, own)) < count:
        raise BackendUnavailable(
            f"The backend {NAME!r} was asked for {count} replicas in each process, and the processes have "
            f"{', '.join(str(len(one)) for one in own)} devices. Open it with fewer."
        )
    return tuple([one for devices in own for one in devices[:count]])


def _joined(
    rank: int | None, size: int | None, address: str | None, platform: str | None, count: int, timeout_s: float
) -> Peers:
    """Meets everybody, joins JAX's group, and lets XLA connect its devices."""
    is_ours = not jax.distributed.is_initialized()
    place = _place(rank, size, address) if is_ours else _place_of_program()
    if place.size == 1:
        make_host_devices(count, platform)
        return Peers(0, {})
    if is_ours:
        _require_unused()
    peers = meet(place, timeout_s)
    _require_equal(peers, count, timeout_s)
    if is_ours:
        own = f"{own_address(place.host)}:{free_port(own_address(place.host))}" if place.rank == 0 else ""
        _initialize(peers.exchange(own.encode(), timeout_s)[0].decode(), place, count, timeout_s)
    devices = _devices(platform, place.size, count)
    local = [one for one in devices if one.process_index == place.rank]
    together = Spread(devices, _wait(peers, timeout_s))
    ones = tuple([jax.device_put(np.ones(1, np.int32), one) for one in local])
    # Connects them: before its first collective, XLA asks JAX's service for the others' addresses.
    together.run(together.jitted(lambda x: (total(x, "SUM"),), [((1,), np.int32)]), [ones])
    if is_ours and devices[0].platform == "cpu":
        # Nobody needs the service now, and those who watch it are ended when rank 0 is.
        peers.exchange(b"connected", timeout_s)
        if place.rank:
            jax.distributed.shutdown()  # type: ignore[no-untyped-call]
        peers.exchange(b"left", timeout_s)
        if not place.rank:
            jax.distributed.shutdown()  # type: ignore[no-untyped-call]
    return peers


def _require_unused() -> None:
    """Raises BackendUnavailable where JAX has started: it cannot join others any more."""
    try:
        config.update("jax_num_cpu_devices", config.jax_num_cpu_devices + 1)
    except RuntimeError as error:
        raise BackendUnavailable(
            f"The backend {NAME!r} joins other processes before JAX's first use, and JAX has started already. Open it "
            f"before any other use of JAX, or call jax.distributed.initialize first."
        ) from error


def _place_of_program() -> Place:
    """Returns this process's place in the group that the program has joined, and where rank 0 will listen."""
    host = own_address(LOOPBACK if jax.process_count() == 1 else os.environ.get("MASTER_ADDR", LOOPBACK))
    own = f"{host}:{free_port(host)}".encode().ljust(_ADDRESS_BYTES)
    told = np.asarray(multihost_utils.process_allgather(np.frombuffer(own, np.uint8)))
    host, _, port = told.reshape(-1, _ADDRESS_BYTES)[0].tobytes().decode().strip().rpartition(":")
    return Place(jax.process_index(), jax.process_count(), host, int(port))


def _place(rank: int | None, size: int | None, address: str | None) -> Place:
    """Returns what was given, or what a launcher has set; a process that nobody tells anything is alone."""
    if rank is None and size is None and not {"RANK", "WORLD_SIZE"} & {*os.environ}:
        rank, size, address = 0, 1, address or f"{LOOPBACK}:{free_port(LOOPBACK)}"
    if address is None:
        address = f"{os.environ.get('MASTER_ADDR', LOOPBACK)}:{_number('MASTER_PORT', 'address', None)}"
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise InvalidArgument(f'address is "host:port" of rank 0, got {address!r}.')
    place = Place(_number("RANK", "rank", rank), _number("WORLD_SIZE", "world_size", size), host, int(port))
    if not 0 <= place.rank < place.size:
        raise InvalidArgument(
            f"The backend {NAME!r} got rank {place.rank} of world_size {place.size}: ranks are 0 to {place.size - 1}."
        )
    return place


def _number(setting: str, option: str, given: int | None) -> int:
    text = os.environ.get(setting, "") if given is None else str(given)
    if not text.isdecimal():
        raise InvalidArgument(
            f"The backend {NAME!r} does not know its {option}: {setting} is {text!r} in the environment. Start the "
            f"program with torchrun or simstrategy.launch, or give rank=, world_size= and address=."
        )
    return int(text)


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


def _wait(peers: Peers, timeout_s: float) -> Wait:
    """Returns what waits for the end of a program, and raises PeerFailed when it will not come."""

    def wait(outputs: Any) -> None:
        arrays = jax.tree.leaves(outputs)
        begun = time.monotonic()
        deadline = begun + timeout_s
        why = f"a collective did not end within {timeout_s:g} s"
        while not all(array.is_ready() for array in arrays):
            now = time.monotonic()
            if now > deadline:
                raise peers.failed("a collective", why)
            if now - begun < _SPIN_S:
                continue
            gone = peers.gone()
            if gone is not None and why != gone:
                why, deadline = gone, min(deadline, now + _GRACE_S)
            time.sleep(_PAUSE_S)
        try:
            jax.block_until_ready(arrays)  # type: ignore[no-untyped-call]
        except jax.errors.JaxRuntimeError as error:
            told = str(error).splitlines()[0]
            raise peers.failed("a collective", peers.gone(_GRACE_S) or f"XLA said: {told}") from error

    return wait
