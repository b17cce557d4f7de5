"""A group that its members have agreed on: it makes calls of one rank, and reads their answers from shared memory."""

import sys
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, NamedTuple, TypeAlias, final

import torch
from torch.distributed import Work

from simstrategy.errors import InvalidArgument
from simstrategy_torch_distributed.arena import Arena
from simstrategy_torch_distributed.arguments import Options, poison
from simstrategy_torch_distributed.link import Link, is_asked, site_of
from simstrategy_torch_distributed.watched.watch import Watch
from simstrategy_torch_distributed.work import Requested

__all__ = ["Finish", "Joined", "Rank", "Read", "nothing"]

Finish: TypeAlias = Callable[[Any], None]
"""Does what is left of a call, given its answer."""
Read: TypeAlias = Callable[[int, int, torch.Tensor], torch.Tensor]
"""Returns the data of a member, by its number and the number of the part: [n], of the size and dtype of a tensor."""


class Rank(NamedTuple):
    """What all groups of one rank share.  order: of additions, "linear", "ring" or "tree". watch: of a check."""

    number: int
    size: int
    link: Link
    arena: Arena
    order: str
    watch: Watch | None = None


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
        site = site_of(sys._getframe(1))
        call = {
            "group": self._number,
            "kind": kind,
            "op": op,
            "subject": subject,
            "leaves": [[list(one.shape), str(one.dtype).removeprefix("torch.")] for one in leaves],
            "site": site,
            "peer": peer,
            "tag": tag,
            "parts": places,
            "sizes": sizes,
            "waits": opts.waits,
        }
        if self.rank.watch is not None and kind == "all_reduce" and len(self.members) == self.rank.size:
            finish = self.rank.watch.called(op or "", site, leaves, finish)
        link = self.rank.link
        is_scripts = (not opts.waits or link.requested is not None) and is_asked(sys._getframe(1))
        if peer is None:
            link.made[self._name] += 1
        if link.requested is not None and is_scripts:
            link.requested(kind, self._name, self.members, leaves or result, () if kind == "send" else result)
        pending = link.call(call, finish, list(result))
        if not opts.waits and finish is not nothing and is_scripts:
            pending.is_asked = True
            for tensor in result:
                poison(tensor)
            if link.began is not None:
                link.began(pending)
        return Requested(link, pending, opts.timeout or self.timeout)

    def root_text(self, opts: Options) -> str:
        """Returns the root of a call as text for messages.  Raises InvalidArgument for one that is no member."""
        if not 0 <= opts.root < len(self.members):
            raise InvalidArgument(f"The root is number {opts.root} in a group of {len(self.members)}. Pass a member.")
        return f"root {self.members[opts.root]}"

    def put(self, tensors: Sequence[torch.Tensor], readers: Sequence[int] | None = None) -> list[int]:
        """Copies tensors, [...] each, to where members can read them.  readers: the members that will, None for all."""
        chosen = range(len(self.members)) if readers is None else readers
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
