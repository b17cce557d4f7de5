"""A fault: which ranks are missing or broke the protocol, and the reason in words."""

import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from simstrategy.peers.connection import FAULT_BYTES_MAX, Connection

__all__ = ["Fault", "known_fault", "workers"]

_FAULT: Final = re.compile(r"((?:\d{1,9}(?:,\d{1,9})*)?):(.*)", re.ASCII | re.DOTALL)
_CUT: Final = " …"


class Fault(NamedTuple):
    """Why the group cannot go on."""

    ranks: tuple[int, ...]
    """The processes that caused it."""
    reason: str

    def encode(self) -> bytes:
        """Returns the data of a message.  A long reason is cut to the limit."""
        data = f"{','.join(map(str, self.ranks))}:{self.reason}".encode(errors="replace")
        if len(data) <= FAULT_BYTES_MAX:
            return data
        return data[: FAULT_BYTES_MAX - len(_CUT.encode())] + _CUT.encode()

    @staticmethod
    def decode(data: bytes, size: int) -> "Fault | None":
        """Returns what another process of `size` reported; None where the data is no fault."""
        match = _FAULT.fullmatch(data.decode(errors="replace"))
        ranks = [int(one) for one in match[1].split(",") if one] if match else []
        if match is None or any(rank >= size for rank in ranks):
            return None
        return Fault(tuple(ranks), match[2])


def known_fault(connections: Mapping[int, Connection]) -> Fault | None:
    """Returns the first fault that is known by now: reported by another process, or seen at its connection."""
    for rank, connection in connections.items():
        if connection.fault:
            fault = Fault.decode(connection.fault, len(connections) + 1)
            return fault or Fault((rank,), f"worker {rank} sent an invalid message")
    for rank, connection in connections.items():
        if connection.violation is not None:
            return Fault((rank,), f"worker {rank} {connection.violation}")
    ended = [rank for rank, one in connections.items() if one.has_ended and not one.notes]
    return Fault(tuple(ended), f"{workers(ended)} ended or lost the connection") if ended else None


def workers(ranks: Iterable[int]) -> str:
    """Returns ranks as words, such as "workers 0, 2"."""
    numbers = [str(rank) for rank in ranks]
    return f"worker{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}"
