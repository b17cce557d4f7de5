"""A group that its members have agreed on: it makes calls of one rank, and reads their answers from shared memory."""

import sys
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, NamedTuple, TypeAlias, final

import torch
from torch.distributed import Work
from torch.distributed.distributed_c10d import Store

from simstrategy.errors import InvalidArgument
from simstrategy_torch_distributed.arena import Arena
from simstrategy_torch_distributed.arguments import Options, poison, require_member
from simstrategy_torch_distributed.calls import JOINS
from simstrategy_torch_distributed.hooks.planting import Planting
from simstrategy_torch_distributed.link import Link, is_asked, site_of
from simstrategy_torch_distributed.watched.shared import Taken
from simstrategy_torch_distributed.watched.watch import Watch
from simstrategy_torch_distributed.work import Requested

__all__ = ["Finish", "Joined", "Rank", "Ranks", "Read", "nothing"]

Finish: TypeAlias = Callable[[Any], None]
"""Does what is left of a call, given its answer."""
Read: TypeAlias = Callable[[int, int, torch.Tensor], torch.Tensor]
"""Returns the data of a member, by its number and the number of the part: [n], of the size and dtype of a tensor."""


class Rank(NamedTuple):
    """What all groups of one rank share.  order: of additions, "linear", "ring" or "tree". watch: of a check.

    planting: of a run for the law of faults.
    """

    number: int
    size: int
    link: Link
    arena: Arena
    order: str
    watch: Watch | None = None
    planting: Planting | None = None


Ranks: TypeAlias = Callable[[Store, tuple[int, int] | None], Rank]
"""Gives this process's rank, for the store of a group and, for a default group, the rank and the size that it is asked
to have; None for another group, which is one of the default group's ranks."""


def nothing(_answer: Any) -> None:
    """Finishes a call that brings no data."""


@final
class Joined:
    """One rank's part of a group.  Made when all members ask for it.  members: ranks; none means all."""

    __slots__ = ("_name", "_number", "member", "members", "rank", "timeout")

    def __init__(self, rank: Rank, members: Sequence[int], name: str, timeout: timedelta) -> None:
        self.rank = rank
        self.members = tuple(members) or tuple(range(rank.size))
        self.member = self.members.index(rank.number)
        self.timeout = timeout
        self._number = -1
        self._name = name
        text = f"group {name} of ranks {', '.join(map(str, self.members))}"
        kind, subject = ("new_group", text) if members else ("init_process_group", None)
        answers: list[int] = []
        members_list = [list(self.members)]
        self.request(kind, (), Options(waits=True), finish=answers.extend, subject=subject, sizes=members_list).wait()
        self._number = answers[0]

    def request(
        self,
        kind: str,
        result: Sequence[torch.Tensor],
        opts: Options,
        *,
        finish: Finish = nothing,
        leaves: Sequence[torch.Tensor] = (),
        places: Sequence[int] = (),
        op: str | None = None,
        subject: str | None = None,
        sizes: Sequence[Sequence[int]] = (),
        peer: int | None = None,
        tag: int = 0,
    ) -> Work:
        """Sends a call and returns its work; the arguments are those of `Call`.

        result: what the work's future gives, [...] each. leaves: what is compared, [...] each.
        """
        call = {
            "group": self._number,
            "kind": kind,
            "op": op,
            "subject": subject,
            "leaves": [[list(one.shape), str(one.dtype).removeprefix("torch.")] for one in leaves],
            "site": site_of(sys._getframe(1)),
            "peer": peer,
            "tag": tag,
            "parts": places,
            "sizes": sizes,
            "waits": opts.waits,
        }
        if self.rank.planting is not None and kind not in JOINS:
            self.rank.planting.arrive()
        watched = self._watched(call, leaves, result, finish)
        link = self.rank.link
        is_scripts = (not opts.waits or link.requested is not None) and is_asked(sys._getframe(1))
        link.made[self._name] += peer is None
        if link.requested is not None and is_scripts:
            link.requested(kind, self._name, self.members, leaves or result, () if kind == "send" else result)
        pending = link.call(call, watched, list(result))
        if isinstance(watched, Taken):
            watched.begin(pending.call.number)
        if not opts.waits and finish is not nothing and is_scripts:
            pending.is_asked = True
            for tensor in result:
                poison(tensor)
            if link.began is not None:
                link.began(pending)
        return Requested(link, pending, opts.timeout or self.timeout)

    def _watched(
        self, call: dict[str, Any], leaves: Sequence[torch.Tensor], result: Sequence[torch.Tensor], finish: Finish
    ) -> Finish:
        """Returns what finishes a call, and writes what a check and the page of a run need of it."""
        watch = self.rank.watch
        if watch is None:
            return finish
        watch.given(call["kind"], leaves)
        if call["peer"] is None and len(self.members) == self.rank.size:
            watch.joining.called(sys._getframe(1))
        written = () if finish is nothing else result
        watch.written(written)
        if call["kind"] == "all_reduce" and len(self.members) == self.rank.size:
            finish = watch.called(call["op"] or "", call["site"], leaves, finish)
        elif call["kind"] == "broadcast" and len(self.members) == self.rank.size:
            watch.sent(leaves)
        if watch.shared is None:
            return finish
        return watch.shared.taken(call["kind"], leaves if call["parts"] else (), written, finish)

    def root_text(self, opts: Options) -> str:
        """Returns the root of a call as text for messages.  Raises InvalidArgument for one that is no member."""
        if not 0 <= opts.root < len(self.members):
            raise InvalidArgument(f"The root is number {opts.root} in a group of {len(self.members)}. Pass a member.")
        return f"root {self.members[opts.root]}"

    def peer_text(self, kind: str, word: str, peer: int) -> str:
        """Returns the other side of a send or receive as text.  Raises InvalidArgument for one that is no member.

        word: "to" or "from". Torch lets such numbers through, among them the -1 of `rank - 1` in rank 0.
        """
        require_member(kind, word, peer, len(self.members))
        return f"{word} rank {self.members[peer]}"

    def put(
        self, tensors: Sequence[torch.Tensor], readers: Sequence[int] | None = None, *, takes_inf: bool = True
    ) -> list[int]:
        """Copies tensors, [...] each, to where members can read them.  readers: the members that will, None for all.

        takes_inf: whether the law of faults may plant inf in them: not in a message, which one member alone receives.
        """
        chosen = range(len(self.members)) if readers is None else readers
        if self.rank.planting is not None and takes_inf:
            self.rank.planting.bring(tensors)
        return self.rank.arena.put(tensors, len(self.members), tuple(chosen))

    def reading(self, sources: Sequence[int] | None, use: Callable[[Read], None]) -> Finish:
        """Returns what finishes a call: `use` reads what the members `sources` have put, None for all."""
        arena = self.rank.arena
        chosen = range(len(self.members)) if sources is None else sources

        def finish(answer: Any) -> None:
            def read(member: int, part: int, like: torch.Tensor) -> torch.Tensor:
                return arena.get(self.members[member], answer[member][1 + part], like.numel(), like.dtype)

            use(read)
            for member in chosen:
                arena.release(self.members[member], answer[member][0], self.member)

        return finish
