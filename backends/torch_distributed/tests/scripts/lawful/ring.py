# ranks: 4
"""An all-reduce made of batch_isend_irecv in a ring, as lectures show it, beside the call that exists."""

import torch
import torch.distributed as dist
from shown import exact, show


def swap(outgoing, incoming, to, source):
    """Sends to one neighbour while it receives from the other."""
    calls = [dist.P2POp(dist.isend, outgoing, to), dist.P2POp(dist.irecv, incoming, source)]
    for work in dist.batch_isend_irecv(calls):
        work.wait()


def ring_all_reduce(tensor):
    """Adds up in the ranks' order around the ring.  tensor: [ranks × n]; it is changed."""
    rank, size = dist.get_rank(), dist.get_world_size()
    to, source = (rank + 1) % size, (rank - 1) % size
    chunks = list(tensor.chunk(size))
    received = torch.empty_like(chunks[0])
    for step in range(size - 1):
        swap(chunks[(rank - step) % size].clone(), received, to, source)
        chunks[(rank - step - 1) % size] += received
    for step in range(size - 1):
        swap(chunks[(rank - step + 1) % size].clone(), received, to, source)
        chunks[(rank - step) % size].copy_(received)


dist.init_process_group("gloo")
for count in (4, 12):
    tensor = torch.arange(float(count)) * (dist.get_rank() + 1)
    expected = tensor.clone()
    ring_all_reduce(tensor)
    dist.all_reduce(expected)
    show(f"ring of {count}", f"{exact(tensor)} {torch.equal(tensor, expected)}")

left, right = torch.zeros(1), torch.zeros(1)
rank, size = dist.get_rank(), dist.get_world_size()
halo = [
    dist.P2POp(dist.isend, torch.tensor([float(rank)]), (rank - 1) % size, tag=1),
    dist.P2POp(dist.isend, torch.tensor([float(rank)]), (rank + 1) % size, tag=2),
    dist.P2POp(dist.irecv, right, (rank + 1) % size, tag=1),
    dist.P2POp(dist.irecv, left, (rank - 1) % size, tag=2),
]
for work in dist.batch_isend_irecv(halo):
    work.wait()
show("neighbours", [left.item(), right.item()])
dist.destroy_process_group()
