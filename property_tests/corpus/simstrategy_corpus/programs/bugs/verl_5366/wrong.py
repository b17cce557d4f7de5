"""Policy-gradient update with several modes of aggregation of the loss."""

import argparse

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def aggregate(losses, mask, mode, global_rows, global_tokens, dp_size):
    """Returns the loss of this rank's rows.  losses, mask: [rows, tokens]."""
    if mode == "token-mean":
        return (losses * mask).sum() / global_tokens * dp_size
    return (losses * mask).sum() / global_rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--loss-agg-mode", default="token-mean")
    parser.add_argument("--batch", type=int, default=8, help="rows of each rank")
    arguments = parser.parse_args()
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(5)
    states, advantages = torch.randn(8, 5, 3), torch.randn(8, 1)
    mask = (torch.arange(5)[None] < torch.tensor([5, 2, 4, 3, 1, 5, 2, 3])[:, None]).float()
    rows = slice(rank * arguments.batch, (rank + 1) * arguments.batch)
    policy = DistributedDataParallel(torch.nn.Linear(3, 1))
    optimizer = torch.optim.SGD(policy.parameters(), lr=0.05)
    for _ in range(3):
        losses = -advantages[rows] * torch.nn.functional.logsigmoid(policy(states[rows]).squeeze(-1))
        counts = torch.stack([torch.tensor(float(arguments.batch)), mask[rows].sum()])
        dist.all_reduce(counts)
        loss = aggregate(losses, mask[rows], arguments.loss_agg_mode, counts[0], counts[1], world)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if rank == 0:
        print("result policy", *policy.module.weight.flatten().tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
