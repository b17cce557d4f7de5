"""Rendezvous through one of PyTorch's stores: each process sets its hello, reads all others, and connects to all.

A hello is compared and never executed. The handshake and the control channel are those of `simstrategy.peers`.
"""

import os
import time
from typing import Any, Final

from simstrategy.errors import InvalidArgument, PeerFailed
from simstrategy.peers import (
    ControlChannel,
    Hello,
    Listener,
    Opening,
    connect_all,
    did_not_come,
    job_token,
    new_token,
    require_alike,
)

__all__ = ["LINGER_S", "rendezvous_in_store"]

_PAUSE_S: Final = 0.0005
_PAUSE_S_MAX: Final = 0.05
_REASON_BYTES_MAX: Final = 1 << 12
LINGER_S: Final = 1.0
"""How long rank 0, which serves the store, keeps it after a failure, so that the others read the reason."""


def rendezvous_in_store(store: Any, opening: Opening, address: str, *, is_file: bool = False) -> ControlChannel:
    """Returns the control channel of the group, once all processes have set their hellos.

    address: of this machine, where the others reach it. is_file: whether the store is a file, which stays
    without rank 0. Raises InvalidArgument, in all processes that have come, where they were started
    differently, and PeerFailed, with the missing ranks.
    """
    secret, token = job_token(os.environ), new_token()
    listener = Listener(address, 0, secret + token, opening.size)
    try:
        hello = Hello(opening.rank, opening.settings, address, listener.port, token.hex())
        store.set(f"here/{opening.rank}", hello.encode().decode())
        try:
            hellos = _read_all(store, opening, is_file=is_file)
        except (PeerFailed, InvalidArgument) as error:
            if opening.rank == 0 and not is_file:
                store.set("failed", str(error))
                time.sleep(LINGER_S)
            raise
        return connect_all(opening, listener, hellos, secret)
    finally:
        listener.close()


def _read_all(store: Any, opening: Opening, *, is_file: bool) -> dict[int, Hello]:
    """Returns the hellos of all ranks, as soon as all are set."""
    hellos: dict[int, Hello] = {}
    pause = _PAUSE_S
    while True:
        # Read before the hellos: a hello that made rank 0 fail is set by then, and is compared here as well.
        has_failed = opening.rank > 0 and store.check(["failed"])
        for rank in range(opening.size):
            if rank not in hellos and store.check([f"here/{rank}"]):
                hellos[rank] = _read(store, opening, rank)
                require_alike(opening, hellos[rank])
        missing = [rank for rank in range(opening.size) if rank not in hellos]
        if not missing:
            return hellos
        if has_failed:
            raise PeerFailed(f"{opening}: rank 0 reports: {_printable(store.get('failed'))}")
        if time.monotonic() > opening.deadline:
            stale = " Remove the file first, if an earlier run that failed has left it." if is_file else ""
            raise PeerFailed(f"{opening}: {did_not_come(opening, missing)}{stale}")
        # A store's own waiting prints its time-outs to the terminal.
        time.sleep(pause := min(2 * pause, _PAUSE_S_MAX))


def _printable(data: bytes) -> str:
    """Returns the reason that rank 0 set, or what another program set: cut to a limit, one line."""
    text = data[:_REASON_BYTES_MAX].decode(errors="replace")
    return "".join(one if one.isprintable() else " " for one in text)


def _read(store: Any, opening: Opening, rank: int) -> Hello:
    try:
        hello = Hello.decode(store.get(f"here/{rank}"))
        if hello.rank != rank:
            raise ValueError(f"it is the hello of rank {hello.rank}")
    except ValueError as error:
        raise PeerFailed(
            f"{opening}: {opening.address} has no valid hello of rank {rank} ({error}). See that only processes of "
            f"this job use it, with one version of simstrategy, and start every rank anew."
        ) from error
    return hello
