"""Strangers that connect to every port of a group of processes; what test_strangers.py runs in each of them.

A stranger is a program of the same machine without the token of the job.
"""

import hashlib
import hmac
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from scenarios import SUBJECTS

from simstrategy.peers import job_token
from simstrategy.peers.handshake import MAGIC, NONCE_BYTES

LISTENING = "0A"
KEPT = 40
"""Connections of one process's strangers that stay open at the same time."""


def claim_with(token: bytes, connection: socket.socket) -> None:
    """Sends what rank 1 of a job with this token sends."""
    greeting = connection.recv(len(MAGIC) + NONCE_BYTES, socket.MSG_WAITALL)
    number, mine = (1).to_bytes(4), bytes(NONCE_BYTES)
    digest = hmac.digest(token, b"connect" + number + greeting[len(MAGIC) :] + mine, hashlib.sha256)
    connection.sendall(number + mine + digest + (2).to_bytes(4) + b"{}")


def byte_by_byte(connection: socket.socket) -> None:
    for one in b"GET / HTTP/1.1":
        connection.sendall(bytes([one]))
        threading.Event().wait(0.01)


WORDS = {
    "nothing": lambda _connection: None,
    "a rank and an address as JSON": lambda one: one.sendall(b'[1, ["127.0.0.1", 9]]\n'),
    "60 kB of brackets": lambda one: one.sendall(b"[" * 60_000),
    "a huge length": lambda one: one.sendall(b"\xff" * 16),
    "a page of the web": lambda one: one.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    "half a claim": lambda one: one.sendall(bytes(range(1, 21))),
    "the token of another job": lambda one: claim_with(b"simstrategy:another", one),
    "the token of a job without a secret": lambda one: claim_with(job_token({}), one),
    "byte by byte": byte_by_byte,
    "zeros": lambda one: one.sendall(bytes(20)),
}
TAKEN: dict[str, tuple[str, ...]] = {"zeros": ("xla_processes", "gloo")}
"""What the framework's own transport may take for a process, by backend: gloo's pairs begin with a small number."""


def ports_of_this_process() -> list[int]:
    """Returns the ports at which this process listens."""
    own = []
    for file in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            own.append(os.readlink(file))
    found = []
    for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == LISTENING and f"socket:[{fields[9]}]" in own:
            found.append(int(fields[1].rpartition(":")[2], 16))
    return found


@contextmanager
def strangers(word: str) -> Iterator[list[int]]:
    """Lets strangers say one thing at every port of this process until the block ends; yields the ports they found."""
    found: list[int] = []
    ended = threading.Event()
    kept: list[socket.socket] = []

    def visit(port: int) -> None:
        with suppress(OSError):
            kept.append(socket.create_connection(("127.0.0.1", port), timeout=0.2))
            found.append(port)
            WORDS[word](kept[-1])

    def disturb() -> None:
        while not ended.wait(0.002):
            for port in ports_of_this_process():
                visit(port)
            while len(kept) > KEPT:
                kept.pop(0).close()

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        yield found
    finally:
        ended.set()
        thread.join()
        for one in kept:
            one.close()


def added_up(name: str, address: str, word: str) -> list[Any]:
    """Opens a backend and adds up among strangers; returns the total, the seconds it took, and the ports found."""
    import simstrategy as ss

    rank = int(os.environ["RANK"])
    options = SUBJECTS[name].rendezvous(address)
    with strangers(word) as found:
        begun = time.monotonic()
        with closing(ss.backend(name, rank=rank, world_size=3, timeout_s=20.0, **options)) as backend:
            strategy = ss.Strategy.multi_worker(backend)

            def step() -> Any:
                context = ss.get_replica_context()
                assert context is not None
                for _ in range(5):
                    context.all_reduce("SUM", np.ones(300_000, np.float32))
                return context.all_reduce("SUM", np.int32(1 + context.replica_id_in_sync_group))

            total = int(strategy.run(step))
        took_s = time.monotonic() - begun
    return [total, took_s, len(set(found))]
