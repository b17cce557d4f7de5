"""A router with a z-loss beside the token loss, under DDP."""

import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

TOKENS, EXPERTS, AUXILIARY = 16, 4, 0.3


class Router(torch.nn.Module):
    """Classifies tokens, and returns the logits of its router beside."""

    def __init__(self):
        super().__init__()
        self.gate = torch.nn.Linear(3, EXPERTS)
        self.head = torch.nn.Linear(EXPERTS, 5)

    def forward(self, tokens):
        gates = self.gate(tokens)
        return self.head(gates.softmax(-1)), gates


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(2)
    tokens, labels = torch.randn(TOKENS, 3), torch.randint(5, (TOKENS,))
    mine, wanted = tokens.chunk(world)[rank], labels.chunk(world)[rank]
    model = DistributedDataParallel(Router())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    for _ in range(4):
        logits, gates = model(mine)
        num_items = torch.tensor(len(wanted))
        dist.all_reduce(num_items)
        loss = cross_entropy(logits, wanted, reduction="sum") / num_items
        auxiliary = gates.logsumexp(-1).square().mean()
        total = (loss + AUXILIARY * auxiliary) * world
        total.backward()
        optimizer.step()
        optimizer.zero_grad()
    if rank == 0:
        print("result gate", *model.module.gate.weight.flatten().tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
