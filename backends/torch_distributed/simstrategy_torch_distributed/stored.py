"""The process that holds the store of a run: the real `TCPStore`, on the loopback address alone."""

import socket
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from torch.distributed import TCPStore  # type: ignore[attr-defined]  # public, and not in torch's stubs

from simstrategy.launch.channel import Channel, Closed

__all__ = ["serve"]


def serve(channel: Channel, _output: Path) -> int:
    """Receives a socket that listens, and serves a store on it until the channel closes; returns the exit code."""
    message, listening = channel.receive()
    assert listening is not None
    store = TCPStore(
        "localhost",
        message["port"],
        is_master=True,
        wait_for_workers=False,
        timeout=timedelta(minutes=30),
        master_listen_fd=socket.socket(fileno=listening).detach(),
    )
    with suppress(Closed):
        channel.receive()
    del store
    return 0
