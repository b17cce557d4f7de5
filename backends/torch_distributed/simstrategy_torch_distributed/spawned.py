"""A process that a program has spawned, forked from one that has imported torch: what it runs, and the groups it joins.

It does what `multiprocessing` does in a spawned process. It becomes a simulated rank when it joins a default group, and
another one when it joins another.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import final

from torch.distributed import FileStore, PrefixStore, TCPStore  # type: ignore[attr-defined]  # public, not in the stubs
from torch.distributed.distributed_c10d import Store

from simstrategy.errors import ContextError, InvalidArgument
from simstrategy.launch.channel import Channel, pair
from simstrategy_torch_distributed.arena import Arena
from simstrategy_torch_distributed.beginning import begun
from simstrategy_torch_distributed.hooks.installing import install_hooks
from simstrategy_torch_distributed.joined import Rank
from simstrategy_torch_distributed.link import Link
from simstrategy_torch_distributed.process_jobs import file_of, run_process
from simstrategy_torch_distributed.program import Ending, finish
from simstrategy_torch_distributed.registering import take_gloos_place
from simstrategy_torch_distributed.watched.uncompiled import run_uncompiled

__all__ = ["serve"]


def serve(channel: Channel, output: Path) -> int:
    """Receives what to run and its open files; runs it; returns the exit code.

    The last files are those for output and errors, the pipe that its parent holds, and that of the resource tracker.
    """
    job, _ = channel.receive()
    *files, printed, errors, parent, tracker = [file_of(channel) for _ in range(job["files"])]
    for stream, file in ((1, printed), (2, errors)):
        os.dup2(file, stream)
        os.close(file)
    with begun(job, job["number"], output):
        worlds = _Worlds(channel, job["order"], job["laws"], output)
        take_gloos_place(worlds.rank)
        run_uncompiled(speaks=not job["number"])
        ending = run_process(job, files, parent, tracker)
        finish()
        worlds.end(ending)
    return ending.code


@final
class _Worlds:
    """The default groups of one process, one after the other.

    channel: to the process that serves all of them. output: begins the names of this process's files.
    """

    def __init__(self, channel: Channel, order: str, laws: Sequence[str], output: Path) -> None:
        self._channel = channel
        self._order = order
        self._laws = laws
        self._output = output
        self._process = os.getpid()
        self._links: list[Link] = []
        self._rank: Rank | None = None
        self._at_end: Callable[[], None] | None = None

    def rank(self, store: Store, joining: tuple[int, int] | None) -> Rank:
        """Returns this process's rank; `joining`: the rank and the size of a default group that it joins now, or None.

        Processes that meet at one store have one default group. Raises InvalidArgument where there is no such group.
        """
        if joining is None:
            assert self._rank is not None
            return self._rank
        if os.getpid() != self._process:
            raise ContextError(
                "A process that a simulated rank has forked calls init_process_group. Start it with the method "
                "'spawn', or join the group in the process that the program has spawned."
            )
        number, size = joining
        here, there = pair()
        with there:
            self._channel.send({"place": _place_of(store), "rank": number, "size": size}, hand=there.fileno())
        answer, memory = self._channel.receive()
        if memory is None:
            here.close()
            raise InvalidArgument(answer["problem"])
        link = Link(here, number)
        link.ready()
        if not self._links:
            self._at_end = install_hooks(link, self._laws, self._output)
        self._links.append(link)
        self._rank = Rank(number, size, link, Arena(memory, number), self._order)
        return self._rank

    def end(self, ending: Ending) -> None:
        """Sends to all groups how the process has ended."""
        if self._at_end is not None:
            self._at_end()
        for link in self._links:
            link.ended(ending.code, ending.text)


def _place_of(store: Store) -> str:
    """Returns where processes meet at a store: what is the same in all of them, and in no others at this time."""
    while isinstance(store, PrefixStore):
        store = store.underlying_store
    if isinstance(store, FileStore):
        return f"file {store.path}"  # type: ignore[attr-defined]  # not in torch's stubs
    if isinstance(store, TCPStore):
        return f"port {store.port}"
    return type(store).__name__
