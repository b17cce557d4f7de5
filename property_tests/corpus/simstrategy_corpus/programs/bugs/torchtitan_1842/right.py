"""Fine-tunes on conversations in which only answers count; ranks have different numbers of them."""

import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

IGNORE_INDEX = -100


def loss_of(logits, labels):
    """Returns the loss of a rank's tokens.  logits: [tokens, words]."""
    total = cross_entropy(logits, labels, ignore_index=IGNORE_INDEX, reduction="sum")
    tokens = (labels != IGNORE_INDEX).sum()
    dist.all_reduce(tokens)
    return total / tokens * dist.get_world_size()


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(52)
    states, labels = torch.randn(8, 6, 4), torch.randint(5, (8, 6))
    for row in range(8):
        labels[row, : 5 - row // 2] = IGNORE_INDEX
    inputs, wanted = (one.chunk(world)[rank].flatten(0, 1) for one in (states, labels))
    model = DistributedDataParallel(torch.nn.Linear(4, 5))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(3):
        loss = loss_of(model(inputs), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if rank == 0:
        print("result bias", *model.module.bias.tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
