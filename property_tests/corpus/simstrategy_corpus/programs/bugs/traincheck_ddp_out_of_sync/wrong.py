"""Fine-tunes under DDP, and unwraps the model for its extra method."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Embedder(torch.nn.Module):
    """Embeds text features."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 2)

    def embed(self, features):
        return torch.tanh(self.layer(features))

    def forward(self, features):
        return self.embed(features)


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(11)
    features, targets = torch.randn(12, 4), torch.rand(12, 2)
    model = DistributedDataParallel(Embedder())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(4):
        outputs = model.module.embed(features[rank::world])
        loss = (outputs - targets[rank::world]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    weight = model.module.layer.weight.flatten().tolist()
    print(f"rank {rank} weight", *weight, flush=True)
    if rank == 0:
        print("result weight", *weight)


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
