# ranks: 2
"""Rank 0 decides to stop, and its decision is broadcast; the ranks leave at other places of the code."""

import torch
import torch.distributed as dist


def should_stop(history):
    return torch.tensor(int(len(history) > 2 and history[-1] >= history[-3]))


dist.init_process_group("gloo")
rank = dist.get_rank()
history, epoch = [], 0
while True:
    loss = torch.tensor([3.0, 2.0, 2.5, 2.6, 1.0][epoch] + 0.1 * rank)
    dist.all_reduce(loss, op=dist.ReduceOp.AVG)
    history.append(round(loss.item(), 4))
    if rank == 0:
        decision = should_stop(history)
        dist.broadcast(decision, src=0)
        if decision:
            print("stopped after", epoch + 1, history)
            break
    else:
        decision = torch.empty((), dtype=torch.int64)
        dist.broadcast(decision, src=0)
        if decision.item():
            break
    epoch += 1
dist.destroy_process_group()
