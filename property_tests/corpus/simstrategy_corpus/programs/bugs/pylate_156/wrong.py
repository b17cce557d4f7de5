"""A contrastive loss over the pairs of a rank, or over those of all ranks."""

import argparse

import torch
import torch.distributed as dist
from torch.nn.functional import cosine_similarity, margin_ranking_loss
from torch.nn.parallel import DistributedDataParallel


class Contrastive:
    """A positive document has to be nearer to its query than a negative one."""

    def __init__(self, gather_across_devices):
        self.gather_across_devices = gather_across_devices

    def __call__(self, query, positive, negative):
        near, far = cosine_similarity(query, positive), cosine_similarity(query, negative)
        loss = margin_ranking_loss(near, far, torch.ones_like(near), margin=0.5)
        return loss * dist.get_world_size()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gather-across-devices", action="store_true")
    arguments = parser.parse_args()
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(43)
    texts = [torch.randn(8, 4).chunk(world)[rank] for _ in range(3)]
    model = DistributedDataParallel(torch.nn.Linear(4, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    criterion = Contrastive(arguments.gather_across_devices)
    for _ in range(3):
        optimizer.zero_grad()
        loss = criterion(*(model(one) for one in texts))
        loss.backward()
        optimizer.step()
    if rank == 0:
        print("result weight", *model.module.weight.flatten().tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
