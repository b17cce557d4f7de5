# ranks: 4
"""Python objects of different sizes in all object calls, in the whole group and in a part of it."""

import dataclasses

import torch
import torch.distributed as dist


@dataclasses.dataclass
class Result:
    name: str
    values: torch.Tensor


dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()

everything = [None] * size
dist.all_gather_object(everything, {"rank": rank, "text": "é" * (rank * 1000), "nested": [(rank, None)]})
lengths = [(one["rank"], len(one["text"]), one["nested"]) for one in everything]

kept = [Result("first", torch.arange(3)), "second", 3] if rank == 2 else [None] * 3
dist.broadcast_object_list(kept, src=2)

collected = [None] * size if rank == 1 else None
dist.gather_object(Result(f"of {rank}", torch.ones(rank)), collected, dst=1)

mine = [None]
dist.scatter_object_list(mine, [f"for {other}" for other in range(size)] if rank == 3 else None, src=3)

if rank == 0:
    dist.send_object_list(["a", {"b": 1}], dst=3)
elif rank == 3:
    received = [None, None]
    source = dist.recv_object_list(received, src=0)

pair = dist.new_group([1, 3])
inner = [None, None]
if rank in (1, 3):
    dist.all_gather_object(inner, f"inner {rank}", group=pair)

lines = [f"{lengths}", f"{kept[0].name} {kept[0].values.tolist()} {kept[1:]}", f"{mine}", f"{inner}"]
lines += [f"{[(one.name, len(one.values)) for one in collected]}"] if rank == 1 else []
lines += [f"{received} from {source}"] if rank == 3 else []
reports = [None] * size if rank == 0 else None
dist.gather_object(lines, reports, dst=0)
if rank == 0:
    for number, report in enumerate(reports):
        print(f"rank {number}:", *report, sep="\n  ")
dist.destroy_process_group()
