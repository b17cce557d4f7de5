"""Gathers embeddings of all ranks and puts its own ones back, so that gradients reach them."""

import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel


def all_gather(tensor):
    """Returns the embeddings of all ranks; those of this rank are in the graph."""
    gathered = [torch.zeros_like(tensor) for _ in range(dist.get_world_size())]
    dist.all_gather(gathered, tensor.detach())
    gathered[dist.get_rank()] = tensor
    return torch.cat(gathered)


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(44)
    anchors, positives = torch.randn(8, 5), torch.randn(8, 5)
    model = DistributedDataParallel(torch.nn.Linear(5, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    for _ in range(3):
        embedded = [all_gather(model(one.chunk(world)[rank])) for one in (anchors, positives)]
        loss = cross_entropy(embedded[0] @ embedded[1].T, torch.arange(len(anchors)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if rank == 0:
        print("result weight", *model.module.weight.flatten().tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
