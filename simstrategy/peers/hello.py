"""What processes compare before they connect: how each was started, and where it listens.

A hello is a flat JSON object. Its size and its nesting are limited before it is parsed, and nothing of it is
executed.
"""

import json
import re
import time
from typing import Any, Final, NamedTuple

from simstrategy.errors import InvalidArgument, PeerFailed

__all__ = [
    "HELLO_BYTES_MAX",
    "Hello",
    "Opening",
    "did_not_come",
    "parsed",
    "require_alike",
    "require_timeout",
    "unreachable",
]

HELLO_BYTES_MAX: Final = 1 << 12
_TIMEOUT_S_MAX: Final = 1_000_000
"""Eleven days; systems count milliseconds in 32 bits."""
_DEPTH_MAX: Final = 8
"""Nesting of a message; Python's parser recurses once for each level."""
_BRACKETS: Final = re.compile(r"[\[\]{}]")
_FIELDS: Final = {"rank": int, "host": str, "port": int, "token": str, "settings": dict}


class Hello(NamedTuple):
    """How one process was started, and where its listener is."""

    rank: int
    settings: dict[str, str | int]
    """What has to be equal in all processes; the keys are words of the message for the case that it is not."""
    host: str
    port: int
    token: str
    """Of the listener, in hexadecimal."""

    def encode(self) -> bytes:
        return json.dumps(self._asdict()).encode()

    @staticmethod
    def decode(data: bytes | str) -> "Hello":
        """Returns the hello.  Raises ValueError for anything else."""
        if len(data) > HELLO_BYTES_MAX:
            raise ValueError(f"it has {len(data)} bytes, and {HELLO_BYTES_MAX} are allowed")
        return Hello.of(parsed(data))

    @staticmethod
    def of(fields: Any) -> "Hello":
        """Returns the hello of a parsed JSON value.  Raises ValueError for any other value."""
        if not isinstance(fields, dict) or {name: type(value) for name, value in fields.items()} != _FIELDS:
            raise ValueError("it is no hello")
        hello = Hello(**fields)
        bytes.fromhex(hello.token)
        if hello.port not in range(1 << 16) or not all(type(value) in (str, int) for value in hello.settings.values()):
            raise ValueError("it is no hello")
        # They stand in messages, which have to be printed.
        if not all(str(text).isprintable() for text in (hello.host, *hello.settings, *hello.settings.values())):
            raise ValueError("its texts cannot be printed")
        return hello


class Opening(NamedTuple):
    """What one process opens, and until when it waits for the others."""

    backend: str
    rank: int
    size: int
    address: str
    """Where the processes rendezvous, in words: "host:port", or a file."""
    settings: dict[str, str | int]
    """What has to be equal in all processes; see `Hello`."""
    timeout_s: float
    deadline: float
    """By time.monotonic()."""

    @property
    def left_s(self) -> float:
        """Seconds to the deadline; never 0, which sockets and stores take for something else."""
        return max(self.deadline - time.monotonic(), 0.001)

    def __str__(self) -> str:
        return f"The backend {self.backend!r}, open in worker {self.rank} of {self.size}"


def require_timeout(timeout_s: object) -> None:
    """Raises InvalidArgument for what is no number of seconds that a system can wait."""
    if not isinstance(timeout_s, (int, float)) or not timeout_s > 0:
        raise InvalidArgument(f"timeout_s is a number of seconds above 0, got {timeout_s!r}.")
    if timeout_s > _TIMEOUT_S_MAX:
        raise InvalidArgument(f"timeout_s is at most {_TIMEOUT_S_MAX} seconds, got {timeout_s!r}.")


def parsed(data: bytes | str) -> Any:
    """Returns a JSON value whose nesting is limited.  Raises ValueError."""
    text = data.decode() if isinstance(data, bytes) else data
    depth = 0
    for bracket in _BRACKETS.findall(text):  # also those inside strings, of which a message has none
        depth += 1 if bracket in "[{" else -1
        if depth > _DEPTH_MAX:
            raise ValueError(f"it has more than {_DEPTH_MAX} levels")
    return json.loads(text)


def require_alike(opening: Opening, other: Hello) -> None:
    """Raises InvalidArgument where another process was started differently."""
    for what, theirs in other.settings.items():
        mine = opening.settings.get(what)
        if mine != theirs:
            raise InvalidArgument(
                f"{opening}: the processes were started with {what}: {mine} here and {theirs} in worker {other.rank}. "
                f"Give each of them the same."
            )


def did_not_come(opening: Opening, missing: list[int], refused: int = 0) -> str:
    """Returns the reason for which an opening failed: which ranks are missing.

    refused: how many connections did not prove the token.
    """
    many = "s" if len(missing) > 1 else ""
    others = f" ({refused} connection{'s' if refused > 1 else ''} without the token refused)" if refused else ""
    return (
        f"rank{many} {', '.join(map(str, missing))} did not come to {opening.address} within {opening.timeout_s:g} s"
        f"{others}. Start every rank from 0 to {opening.size - 1} once, or give a larger timeout_s."
    )


def unreachable(opening: Opening, rank: int, address: str, problem: object) -> PeerFailed:
    """Returns the error for a process that had come and cannot be connected to."""
    return PeerFailed(
        f"{opening}: worker {rank} cannot be reached at {address} ({problem}). See that it still runs and that the "
        f"machines can reach each other there."
    )
