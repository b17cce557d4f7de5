"""A dense retriever with in-batch negatives gathered from all ranks."""

import torch
import torch.distributed as dist
from torch.distributed.nn.functional import all_gather
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel


class Retriever(torch.nn.Module):
    """Encodes queries and passages with one encoder."""

    def __init__(self):
        super().__init__()
        self.encoder = torch.nn.Linear(4, 3)

    def forward(self, queries, passages):
        return self.encoder(queries), self.encoder(passages)


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(8)
    queries, passages = torch.randn(8, 4), torch.randn(8, 4)
    model = DistributedDataParallel(Retriever())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        outputs = model(queries.chunk(world)[rank], passages.chunk(world)[rank])
        query, passage = (torch.cat(all_gather(one)) for one in outputs)
        loss = cross_entropy(query @ passage.T, torch.arange(len(query)))
        loss = loss * world
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0:
            print("result loss", loss.item())
    if rank == 0:
        print("result encoder", *model.module.encoder.weight.flatten().tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
