"""A rank that runs what the script spawns, in place of the script: it waits at the socket of the script's process.

`seating.py` is the other side. A rank runs one spawned process after the other, as long as they end well.
"""

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import torch.distributed
from torch.distributed import distributed_c10d

from simstrategy.errors import InvalidArgument
from simstrategy.launch.channel import Channel, Closed
from simstrategy_torch_distributed.gpus.places import place
from simstrategy_torch_distributed.process_jobs import file_of, run_process
from simstrategy_torch_distributed.program import Ending
from simstrategy_torch_distributed.watched.entries import FILE

__all__ = ["run_seat"]

_KILLED: Final = Ending(1, "was given no process: the script's own process was killed")
_OF_THE_STORE: Final = ("MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_USE_AGENT_STORE", "TORCHELASTIC_RESTART_COUNT")
"""Variables by which a rank of torchrun finds the store of its run."""


def run_seat(address: str, rank: int) -> Ending:
    """Runs the processes that the script gives this rank, until it has no more; returns how the last one ended.

    address: of the socket. Environment and folder are those of the script's process then, as for a spawned process.
    """
    with socket.socket(socket.AF_UNIX) as connected:
        channel = Channel(connected)
        try:
            connected.connect(address)
            channel.send({"rank": rank, "process": os.getpid()})
        except (Closed, OSError):
            return _KILLED
        _join_own_store(int(os.environ["WORLD_SIZE"]))
        ending: Ending | None = None
        while ending is None or not ending.code:
            try:
                job, _ = channel.receive()
            except Closed:
                return _KILLED
            if "end" in job:
                return ending or Ending(1, job["end"])
            ending = _ran(job, channel)
        return ending


def _ran(job: Mapping[str, Any], channel: Channel) -> Ending:
    *files, parent, tracker = [file_of(channel) for _ in range(job["files"])]
    kept = {FILE: os.environ[FILE]} if FILE in os.environ else {}
    os.environ.clear()
    os.environ.update({**job["environment"], **kept})
    os.chdir(job["folder"])
    ending = run_process({**job, "first": None}, files, parent, tracker)
    channel.send({"code": ending.code})
    return ending


def _join_own_store(count: int) -> None:
    """Makes default groups meet at the store of the run, wherever the script's processes would meet.

    count: of the ranks of the run. A group of another size raises InvalidArgument.
    """
    own = {name: os.environ[name] for name in _OF_THE_STORE}
    join = vars(distributed_c10d)["init_process_group"]

    def init_process_group(
        backend: Any = None,
        init_method: Any = None,
        timeout: Any = None,
        world_size: int = -1,
        rank: int = -1,
        store: Any = None,
        *args: Any,
        **given: Any,
    ) -> None:
        del init_method, store
        size = int(os.environ.get("WORLD_SIZE", "-1")) if world_size == -1 else world_size
        if size not in (-1, count):
            raise InvalidArgument(
                f"init_process_group at {place(1)} makes a group of {size}, and the replicas of this run are {count}. "
                f"Give the script their number, such as -- --world-size {{replicas}}, or let it ask "
                f"torch.cuda.device_count() with --device cpu-for-cuda."
            )
        with _variables(own):
            join(backend, None, timeout, world_size, rank, None, *args, **given)

    for module in (torch.distributed, distributed_c10d):
        vars(module)["init_process_group"] = init_process_group


@contextmanager
def _variables(own: Mapping[str, str]) -> Iterator[None]:
    """Sets variables of the environment for a while."""
    before = {name: os.environ.get(name) for name in own}
    os.environ.update(own)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
