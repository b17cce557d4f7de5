# ranks: 3
"""broadcast, reduce, gather and scatter, with every rank as the root, waited for at once and later."""

import torch
import torch.distributed as dist
from shown import exact, show

DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.int64, torch.bool)


def broadcasts(root, rank):
    for dtype in (*DTYPES, torch.complex64):
        tensor = (torch.arange(4) + rank).to(dtype)
        dist.broadcast(tensor, src=root)
        show(f"broadcast {root}", exact(tensor))


def reductions(root, rank):
    for name in ("SUM", "MAX", "PRODUCT"):
        tensor = torch.tensor([1.0 + rank, 2.0])
        work = dist.reduce(tensor, dst=root, op=getattr(dist.ReduceOp, name), async_op=True)
        work.wait()
        show(f"reduce {name} {root}", exact(tensor) if rank == root else "elsewhere")


def gathers(root, rank, size):
    mine = torch.full((2,), rank, dtype=torch.int32)
    into = [torch.empty(2, dtype=torch.int32) for _ in range(size)] if rank == root else None
    dist.gather(mine, into, dst=root)
    show(f"gather {root}", exact(torch.cat(into)) if into else "elsewhere")


def scatters(root, rank, size):
    parts = [torch.tensor([10.0 * root, float(one)]) for one in range(size)] if rank == root else None
    mine = torch.empty(2)
    work = dist.scatter(mine, parts, src=root, async_op=True)
    work.wait()
    show(f"scatter {root}", exact(mine))


def main():
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    for root in range(size):
        broadcasts(root, rank)
        reductions(root, rank)
        gathers(root, rank, size)
        scatters(root, rank, size)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
