"""Reads this process's rank, the number of processes and the rendezvous from the environment.  It opens nothing.

It reads what torchrun, TF_CONFIG, SLURM's srun and Open MPI's mpirun set, in this order.
"""

import json
import re
import zlib
from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from simstrategy.errors import InvalidArgument
from simstrategy.peers import LOOPBACK

__all__ = ["Place", "place_of"]

_PORTS_FROM: Final = 20_000
_PORTS: Final = 12_000
"""Ports for job numbers: above those of services, below those that systems assign to clients."""
_HOW: Final = (
    "Start the program with torchrun, srun or mpirun, set TF_CONFIG, or give rank=, world_size= and init_method=."
)


class Place(NamedTuple):
    """The rank of this process, the number of processes, and their rendezvous."""

    rank: int
    size: int
    local_rank: int
    """Among the processes of its machine: the number of its GPU."""
    host: str
    port: int
    file: str
    """Used instead of host and port where it is not empty."""

    def at(self, host: str, port: int, file: str = "") -> "Place":
        """Returns the same process with another rendezvous."""
        return Place(self.rank, self.size, self.local_rank, host, port, file)

    def __str__(self) -> str:
        return self.file or f"{self.host}:{self.port}"


def place_of(name: str, settings: Mapping[str, str], rank: int | None, size: int | None, method: str | None) -> Place:
    """Returns the place that options give, and the environment where an option is None.

    name: of the backend, for messages. Without options and settings the process is a group of size 1. Raises
    InvalidArgument for a missing or impossible value.
    """
    found = None if rank is not None or size is not None else _launched(name, settings)
    if found is None:
        alone = rank is None and size is None and not {"RANK", "WORLD_SIZE"} & set(settings)
        rank = 0 if alone else _given(name, "RANK", "rank", rank, settings)
        size = 1 if alone else _given(name, "WORLD_SIZE", "world_size", size, settings)
        local = settings.get("LOCAL_RANK", "")
        found = Place(rank, size, int(local) if local.isdecimal() else rank, LOOPBACK, 0, "")
    if not 0 <= found.rank < found.size:
        raise InvalidArgument(
            f"The backend {name!r} got rank {found.rank} of world_size {found.size}: ranks are 0 to {found.size - 1}."
        )
    return _with_rendezvous(name, found, settings, method)


def _with_rendezvous(name: str, place: Place, settings: Mapping[str, str], method: str | None) -> Place:
    """Returns the place with its rendezvous."""
    if method in (None, "env://"):
        if place.port or (place.size == 1 and method is None):
            return place
        host = settings.get("MASTER_ADDR", LOOPBACK)
        return place.at(host, _given(name, "MASTER_PORT", "init_method", None, settings))
    parts = urlsplit(str(method))
    try:
        port = parts.port
    except ValueError:  # beyond 65535
        port = None
    if parts.scheme == "tcp" and parts.hostname and port:
        return place.at(parts.hostname, port)
    if parts.scheme == "file" and not parts.netloc and parts.path:
        return place.at(LOOPBACK, 0, parts.path)
    raise InvalidArgument(f'init_method is "env://", "tcp://host:port" or "file:///path", got {method!r}.')


def _launched(name: str, settings: Mapping[str, str]) -> Place | None:
    """Returns the place that a launcher other than torchrun set; None where there is none."""
    if {"RANK", "WORLD_SIZE"} & set(settings):
        return None
    if settings.get("TF_CONFIG"):
        return _of_tensorflow(name, settings["TF_CONFIG"])
    if "SLURM_STEP_NUM_TASKS" in settings:  # set for srun's tasks alone, not for a batch script
        return _of_slurm(name, settings)
    if "OMPI_COMM_WORLD_SIZE" in settings:
        return _of_open_mpi(name, settings)
    return None


def _of_tensorflow(name: str, text: str) -> Place:
    try:
        config = json.loads(text)
        cluster: dict[str, Any] = config.get("cluster") or {}
        kind, index = config["task"]["type"], int(config["task"]["index"])
        chiefs = [*cluster.get("chief", []), *cluster.get("master", [])]
        addresses = [*chiefs, *cluster.get("worker", [])]
        if not cluster:
            return Place(0, 1, 0, LOOPBACK, 0, "")
        if kind not in ("chief", "master", "worker"):
            raise InvalidArgument(
                f"TF_CONFIG makes this process a {kind!r}, and the backend {name!r} has workers alone: a chief, which "
                f"is worker 0, and workers. Start no process for other tasks."
            )
        rank = index + (len(chiefs) if kind == "worker" else 0)
        host, _, port = str(addresses[0]).rpartition(":")
        return Place(rank, len(addresses), 0, host.strip("[]"), int(port), "")
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        if isinstance(error, InvalidArgument):
            raise
        raise InvalidArgument(
            f"TF_CONFIG is no cluster that the backend {name!r} can read ({type(error).__name__}: {error}). Write it "
            f'like {{"cluster": {{"worker": ["host0:port", "host1:port"]}}, "task": {{"type": "worker", "index": 0}}}}.'
        ) from error


def _of_slurm(name: str, settings: Mapping[str, str]) -> Place:
    numbers = [
        _given(name, variable, "rank", None, settings)
        for variable in ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID")
    ]
    nodes = settings.get("SLURM_STEP_NODELIST", "")
    host = settings.get("MASTER_ADDR") or (LOOPBACK if not re.search(r"[,\[]", nodes) else _first_node(nodes))
    job = f"{settings.get('SLURM_JOB_ID', '')}.{settings.get('SLURM_STEP_ID', '')}"
    return Place(numbers[0], numbers[1], numbers[2], host, _port(settings, job), "")


def _first_node(nodes: str) -> str:
    """Returns the first host of a list such as gpu[03-07,11],cpu1."""
    found = re.match(r"([^,\[]*)(?:\[([^,\-\]]+)[^\]]*\]([^,]*))?", nodes)
    assert found is not None
    return "".join(part or "" for part in found.groups())


def _of_open_mpi(name: str, settings: Mapping[str, str]) -> Place:
    rank, size, local, here = [
        _given(name, f"OMPI_COMM_WORLD_{word}", "rank", None, settings)
        for word in ("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE")
    ]
    host = settings.get("MASTER_ADDR") or LOOPBACK
    if here != size and "MASTER_ADDR" not in settings:
        raise InvalidArgument(
            f"mpirun started {size} processes on several machines, and the backend {name!r} has no address of the "
            f"first. Give it to all of them: mpirun -x MASTER_ADDR=host0 -x MASTER_PORT=29500 …"
        )
    return Place(rank, size, local, host, _port(settings, settings.get("PMIX_NAMESPACE", "")), "")


def _port(settings: Mapping[str, str], job: str) -> int:
    """Returns MASTER_PORT, or a port that two jobs on one machine are unlikely to share."""
    text = settings.get("MASTER_PORT", "")
    return int(text) if text.isdecimal() and int(text) else _PORTS_FROM + zlib.crc32(job.encode()) % _PORTS


def _given(name: str, variable: str, option: str, given: int | None, settings: Mapping[str, str]) -> int:
    text = settings.get(variable, "") if given is None else str(given)
    if not text.isdecimal():
        raise InvalidArgument(
            f"The backend {name!r} takes {variable} from the environment, as launchers set it, or the option {option}; "
            f"found {text!r} instead of a number. {_HOW}"
        )
    return int(text)
