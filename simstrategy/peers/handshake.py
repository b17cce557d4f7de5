"""The handshake of every new connection: both sides prove that they have the token before anything is parsed.

The listener sends a magic number and a nonce; the connecting side returns its rank, a nonce of its own and
an HMAC-SHA-256 of all of them; the listener (`listener.py`) returns another HMAC. The token itself is never
sent. There is no encryption.
"""

import hashlib
import hmac
import os
import socket
import time
from collections.abc import Mapping
from typing import Final

__all__ = [
    "CLAIM_BYTES",
    "MAGIC",
    "NONCE_BYTES",
    "RANK_BYTES",
    "REFUSAL",
    "SIZE_BYTES",
    "HandshakeFailed",
    "connect",
    "job_token",
    "left_s",
    "new_token",
    "proof",
    "read_exactly",
]

MAGIC: Final = b"simpeer1"
NONCE_BYTES: Final = 16
RANK_BYTES: Final = 4
SIZE_BYTES: Final = 4
"""Of the length of the hello, which follows the claim."""
_TOKEN_BYTES: Final = 16
_PROOF_BYTES: Final = 32
REFUSAL: Final = bytes(_PROOF_BYTES)
CLAIM_BYTES: Final = RANK_BYTES + NONCE_BYTES + _PROOF_BYTES
_RETRY_S: Final = 0.02


class HandshakeFailed(Exception):
    """A connection could not be made, or the other side is no process of the group: the text gives the reason."""


class _Ended(ConnectionError):
    """A connection that was made ended during the handshake."""


def new_token() -> bytes:
    """Returns 16 random bytes."""
    return os.urandom(_TOKEN_BYTES)


def job_token(settings: Mapping[str, str]) -> bytes:
    """Returns the token that all processes of a job have before they connect, from their environment.

    settings: SIMSTRATEGY_TOKEN is a secret of the job; without it torchrun's run id keeps jobs apart. With
    neither, the token only keeps programs off that do not use this protocol.
    """
    secret = settings.get("SIMSTRATEGY_TOKEN") or settings.get("TORCHELASTIC_RUN_ID") or ""
    return f"simstrategy:{secret}".encode()


def connect(
    address: tuple[str, int], token: bytes, rank: int, deadline: float, *, hello: bytes = b"", retry: bool = False
) -> socket.socket:
    """Connects to a `Listener` and proves the token to it; returns a blocking socket.

    deadline: by time.monotonic(). retry: whether the listener may not exist yet. A connection that ends during the
    handshake is made again until the deadline: a listener closes some where it has too many. Raises HandshakeFailed.
    """
    begun = time.monotonic()
    while True:
        try:
            return _attempt(address, token, rank, hello, deadline)
        except TimeoutError as error:
            raise HandshakeFailed(f"it did not answer within {max(deadline - begun, 0.0):.1f} s") from error
        except (socket.gaierror, ValueError) as error:
            raise HandshakeFailed(f"the host has no address ({error})") from error
        except OSError as error:
            may_succeed = retry or isinstance(error, _Ended)
            if not may_succeed or time.monotonic() + _RETRY_S >= deadline:
                raise HandshakeFailed(str(error)) from error
        time.sleep(_RETRY_S)


def _attempt(address: tuple[str, int], token: bytes, rank: int, hello: bytes, deadline: float) -> socket.socket:
    connection = socket.create_connection(address, timeout=left_s(deadline))
    try:
        _prove(connection, token, rank, hello, deadline)
    except ConnectionError as error:
        connection.close()
        raise _Ended("the connection ended during the handshake") from error
    except BaseException:
        connection.close()
        raise
    return connection


def _prove(connection: socket.socket, token: bytes, rank: int, hello: bytes, deadline: float) -> None:
    """Makes the connecting side's part of the handshake.  Raises HandshakeFailed, OSError."""
    greeting = read_exactly(connection, len(MAGIC) + NONCE_BYTES, deadline)
    if not greeting.startswith(MAGIC):
        raise HandshakeFailed("another program answered")
    theirs, mine, number = greeting[len(MAGIC) :], os.urandom(NONCE_BYTES), rank.to_bytes(RANK_BYTES)
    claim = number + mine + proof(token, b"connect", number, theirs, mine)
    connection.settimeout(left_s(deadline))
    connection.sendall(claim + len(hello).to_bytes(SIZE_BYTES) + hello)
    answer = read_exactly(connection, _PROOF_BYTES, deadline)
    if answer == REFUSAL:
        raise HandshakeFailed(
            "it refused the token of this process. Set SIMSTRATEGY_TOKEN to the same secret in every process"
        )
    if not hmac.compare_digest(answer, proof(token, b"accept", number, theirs, mine)):
        raise HandshakeFailed("it did not prove that it has the token")
    connection.settimeout(None)


def read_exactly(connection: socket.socket, size: int, deadline: float) -> bytes:
    """Returns `size` bytes.  Raises TimeoutError after the deadline, ConnectionError where the connection ends."""
    data = bytearray()
    while len(data) < size:
        connection.settimeout(left_s(deadline))
        piece = connection.recv(size - len(data))
        if not piece:
            raise ConnectionError("the connection ended")
        data += piece
    return bytes(data)


def proof(token: bytes, side: bytes, number: bytes, listeners: bytes, connecting: bytes) -> bytes:
    """Returns what one side sends to prove the token: over its side, the rank and both nonces."""
    return hmac.digest(token, side + number + listeners + connecting, hashlib.sha256)


def left_s(deadline: float) -> float:
    """Returns the seconds that are left; never 0, which a socket takes for "does not block"."""
    return max(0.001, deadline - time.monotonic())
