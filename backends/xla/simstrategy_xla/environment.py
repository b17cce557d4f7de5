"""Reads this process's rank, the number of processes and rank 0's address from options and the environment."""

import os
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import jax
import numpy as np
from jax.experimental import multihost_utils

from simstrategy.errors import InvalidArgument
from simstrategy.peers import LOOPBACK, address_towards, free_port, job_token, new_token
from simstrategy_xla.process_group import NAME

__all__ = ["Place", "place_of", "place_of_program"]

_ADDRESS_BYTES: Final = 64
_OPTIONS: Final = "rank=, world_size= and address="


class Place(NamedTuple):
    """The rank of this process, the number of processes, where rank 0 listens, and the token of the rendezvous."""

    rank: int
    size: int
    host: str
    port: int
    token: bytes

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def place_of(rank: int | None, size: int | None, address: str | None, settings: Mapping[str, str]) -> Place:
    """Returns the place that options give, and the environment where an option is None.

    Without options and settings the process is a group of size 1. Raises InvalidArgument.
    """
    if rank is None and size is None and not {"RANK", "WORLD_SIZE"} & {*settings}:
        return Place(0, 1, LOOPBACK, 0, b"")
    if address is None:
        port_here = _number("MASTER_PORT", "address", None, settings)
        address = f"{settings.get('MASTER_ADDR', LOOPBACK)}:{port_here}"
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise InvalidArgument(f'address is "host:port" of rank 0, got {address!r}.')
    number = _number("RANK", "rank", rank, settings)
    count = _number("WORLD_SIZE", "world_size", size, settings)
    if not 0 <= number < count:
        raise InvalidArgument(
            f"The backend {NAME!r} got rank {number} of world_size {count}: ranks are 0 to {count - 1}."
        )
    return Place(number, count, host.strip("[]"), int(port), job_token(settings))


def place_of_program() -> Place:
    """Returns this process's place in the group that the program has joined; rank 0 chooses address and token."""
    rank, size = jax.process_index(), jax.process_count()
    host = address_towards(LOOPBACK if size == 1 else os.environ.get("MASTER_ADDR", LOOPBACK))
    text = f"{new_token().hex()} {host} {free_port(host)}".encode().ljust(2 * _ADDRESS_BYTES)
    gathered: Any = multihost_utils.process_allgather(np.frombuffer(text, np.uint8))
    first = np.asarray(gathered).reshape(-1, 2 * _ADDRESS_BYTES)[0].tobytes().decode()
    token, host, port = first.split()
    return Place(rank, size, host, int(port), bytes.fromhex(token))


def _number(setting: str, option: str, given: int | None, settings: Mapping[str, str]) -> int:
    text = settings.get(setting, "") if given is None else str(given)
    if not text.isdecimal():
        raise InvalidArgument(
            f"The backend {NAME!r} has no {option}: {setting} is {text!r} in the environment. Start the program with "
            f"torchrun or simstrategy.launch, or give {_OPTIONS}."
        )
    return int(text)
