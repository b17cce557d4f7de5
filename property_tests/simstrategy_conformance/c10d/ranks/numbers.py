"""The numbers of ranks, in the world and in a group, as `torch.distributed` reports them."""

from typing import Any

import torch.distributed as dist

from simstrategy_conformance.c10d.answers import Wrong
from simstrategy_conformance.c10d.inputs import members_of
from simstrategy_conformance.c10d.ranks.scene import refusing

__all__ = ["require_numbers"]


def require_numbers(part: str, group: Any, rank: int, ranks: int) -> None:
    """Fails unless a rank's numbers in the world, and in the group of a part of the ranks, are as they should be."""
    members = list(members_of(part, ranks))
    me = members.index(rank) if rank in members else -1
    rows: list[tuple[str, Any, tuple[Any, ...], Any]] = [
        ("get_rank()", dist.get_rank, (), rank),
        ("get_world_size()", dist.get_world_size, (), ranks),
        ("get_rank of the group", dist.get_rank, (group,), me),
        ("get_world_size of the group", dist.get_world_size, (group,), len(members) if me >= 0 else -1),
    ]
    if me >= 0:
        whole = dist.group.WORLD if group is None else group
        rows += [("get_process_group_ranks", dist.get_process_group_ranks, (whole,), members)]
        rows += [(f"get_group_rank({one})", dist.get_group_rank, (whole, one), at) for at, one in enumerate(members)]
        rows += [(f"get_global_rank({at})", dist.get_global_rank, (whole, at), one) for at, one in enumerate(members)]
    for name, function, arguments, expected in rows:
        found = refusing(function, *arguments)
        if found != expected:
            raise Wrong(f"ranks {members} of {ranks}, in rank {rank}: {name} is {found}, not {expected}")
