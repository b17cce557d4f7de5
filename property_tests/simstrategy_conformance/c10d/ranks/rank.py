"""The process of a rank: joins a world, makes the calls that it is sent, and answers what came of each.

`serve` and `serve_threads` run in processes that the kit has forked; run as a module, this is a rank of a launcher.
"""

import contextlib
import json
import os
import threading
import warnings
from collections.abc import Callable
from importlib import import_module
from multiprocessing.connection import Client, Connection
from typing import Any, final

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d
from torch._C._distributed_c10d import HashStore, Store

from simstrategy_conformance.c10d.answers import PLACE, Answer, Asked, Place, Refused, Wrong
from simstrategy_conformance.c10d.inputs import PARTS, members_of
from simstrategy_conformance.c10d.ranks.calls import CALLS, QUESTIONS
from simstrategy_conformance.c10d.ranks.evidence import events_of, evidence_of, others_of
from simstrategy_conformance.c10d.ranks.joining import device_of, join
from simstrategy_conformance.c10d.ranks.marks import Marks
from simstrategy_conformance.c10d.ranks.numbers import require_numbers
from simstrategy_conformance.c10d.ranks.scene import Scene, refusing
from simstrategy_conformance.c10d.ranks.tensors import Memory
from simstrategy_conformance.c10d.stacks import show_on_signal

__all__ = ["serve", "serve_threads"]


def serve(place: Place, shared: Store | None = None) -> None:
    """Is a rank until the kit closes its connection."""
    torch.set_num_threads(1)  # ranks share the processors
    warnings.simplefilter("ignore", FutureWarning)  # calls that torch will drop are examined as long as they are there
    if shared is None:
        show_on_signal(place.folder, place.rank)
    with Client(place.address, authkey=place.key) as channel:
        channel.send((place.rank, os.getpid()))
        joined = join(place, channel, shared=shared)
        channel.send(joined)
        if joined.status == "right":
            rank = _Rank(place, is_thread=shared is not None)
            for asked in iter(lambda: _received(channel), None):
                channel.send(rank.answer(asked))
    if shared is None and not place.launched:
        os._exit(0)  # nothing that the backend has started may keep the process


def serve_threads(place: Place) -> None:
    """Is all ranks of a world whose ranks are threads."""
    vars(import_module(place.module))["_install_threaded_pg"]()
    # As torch's own tests do: each thread has a registry of groups.
    vars(c10d)["_set_thread_isolation_mode"](True)
    store = HashStore()
    threads = [
        threading.Thread(target=serve, args=(place._replace(rank=rank), store), daemon=True)
        for rank in range(place.ranks)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _received(channel: Connection) -> Asked | None:
    try:
        asked: Asked = channel.recv()
    except (EOFError, OSError):
        return None
    return asked


@final
class _Rank:
    """A rank that has joined, with the groups that it has made."""

    def __init__(self, place: Place, *, is_thread: bool) -> None:
        self._place = place
        self._is_thread = is_thread
        self._device = device_of(place.backend, place.rank)
        self._marks = Marks(place.folder)
        self._groups: dict[str, Any] = {"all": None}

    def answer(self, asked: Asked) -> Answer:
        """Makes a call, and returns what came of it."""
        try:
            return self._evidence() if asked.call == "evidence" else self._made(asked)
        except Refused as error:
            return Answer("wrong" if error.is_lost else "refused", str(error))
        except Wrong as error:
            return Answer("wrong", str(error))

    def _made(self, asked: Asked) -> Answer:
        """Makes a call, twice where its row is made again."""
        if asked.call == "numbers":
            return self._numbers()
        call, _, aspect = asked.call.partition(" ")
        digest: int | None = 0
        failed: Refused | Wrong | None = None
        memory = Memory()
        for repeat in range(1 + asked.row.again):
            memory.begin()
            scene = self._scene(asked, repeat, memory, ends=aspect == "ends")
            if scene is None:
                return Answer("absent")
            if asked.call in QUESTIONS:
                return Answer("seen", QUESTIONS[asked.call](scene))
            if aspect == "events":
                return self._events(CALLS[call], scene)
            try:
                digest = CALLS[call](scene)
            except (Refused, Wrong) as error:  # the others make the second call, and would wait for this rank
                failed = failed or error
        if failed is not None:
            raise failed
        return Answer("absent") if digest is None else Answer("right", digest=digest)

    def _numbers(self) -> Answer:
        """Returns "seen" with the refusal where no group of some ranks can be made."""
        for part in PARTS:
            try:
                group = self._group(part)
            except Refused as error:
                if error.is_lost:
                    raise
                return Answer("seen", str(error))
            require_numbers(part, group, self._place.rank, self._place.ranks)
        return Answer("right")

    def _evidence(self) -> Answer:
        found = refusing(lambda: evidence_of(self._device, recorded=not self._is_thread))
        fault = found.fault(self._place.backend, self._place.object or self._place.backend)
        return Answer("wrong", f"{fault} ({found})") if fault else Answer("seen", str(found))

    def _events(self, call: Callable[[Scene], Any], scene: Scene) -> Answer:
        """Makes a call under the profiler; "seen" where another backend of torch than the named one has done it.

        What the call gives has a clause of its own.
        """

        def made() -> None:
            with contextlib.suppress(Refused, Wrong):
                call(scene)

        events = events_of(made, recorded=not self._is_thread)
        fault = others_of(events, self._place.object or self._place.backend)
        return Answer("seen", fault) if fault else Answer("right")

    def _group(self, part: str) -> Any:
        """Returns the group of a part of the ranks, None for all; each is made when all ranks first need it."""
        if part not in self._groups:
            self._groups[part] = refusing(dist.new_group, list(members_of(part, self._place.ranks)))
        return self._groups[part]

    def _scene(self, asked: Asked, repeat: int, memory: Memory, *, ends: bool) -> Scene | None:
        """Returns what a call needs; None where this rank is not in the row's group."""
        group = self._group(asked.row.part)
        members = members_of(asked.row.part, self._place.ranks)
        if self._place.rank not in members:
            return None
        me = members.index(self._place.rank)
        number = f"{asked.number}.{repeat}"
        return Scene(asked.row, group, me, self._device, self._marks, number, memory, ends, repeat)


def _from_environment() -> Place:
    """Returns the place of a rank that a launcher has started."""
    given = Place(**json.loads(os.environ[PLACE]))
    return given._replace(key=bytes.fromhex(str(given.key)), rank=int(os.environ["RANK"]))


if __name__ == "__main__":
    serve(_from_environment())
