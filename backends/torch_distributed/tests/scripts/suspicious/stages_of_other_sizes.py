# ranks: 3
"""A pipeline whose stages have other numbers of layers, optimizers and steps; the last stage alone has a loss."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(rank)
stage = torch.nn.Sequential(*(torch.nn.Linear(4, 4) for _ in range(3 - rank)))
optimizers = [torch.optim.SGD([one], lr=0.1) for one in stage.parameters()]
last = None
for step in range(2):
    entered = torch.full((2, 4), float(step)) if rank == 0 else torch.empty(2, 4)
    if rank:
        dist.recv(entered, src=rank - 1)
        entered.requires_grad_()
    made = stage(entered)
    if rank < size - 1:
        work = dist.isend(made.detach(), dst=rank + 1)
        gradient = torch.empty_like(made)
        dist.recv(gradient, src=rank + 1)
        work.wait()
        made.backward(gradient)
    else:
        last = made.pow(2).mean()
        last.backward()
    if rank:
        dist.send(entered.grad, dst=rank - 1)
    for optimizer in optimizers:
        optimizer.step()
        optimizer.zero_grad()
loss = last.detach() if rank == size - 1 else torch.empty(())
dist.broadcast(loss, src=size - 1)
if rank == 0:
    print(round(loss.item(), 4), len(optimizers))
dist.destroy_process_group()
