"""Two stages: the first sends activations, the second sends gradients back."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(53)
inputs, first, second = torch.randn(4, 3), torch.nn.Linear(3, 2), torch.nn.Linear(2, 1)
for _ in range(3):
    if rank == 0:
        hidden = first(inputs)
        dist.send(hidden.detach(), dst=1)
        gradient = torch.empty(4, 2)
        dist.recv(gradient, src=1)
        hidden.backward(gradient)
        stage = first
    else:
        hidden = torch.empty(4, 2)
        dist.recv(hidden, src=0)
        hidden.requires_grad_()
        second(hidden).square().mean().backward()
        dist.send(hidden.grad, dst=0)
        stage = second
    with torch.no_grad():
        for parameter in stage.parameters():
            parameter -= 0.1 * parameter.grad
            parameter.grad = None
if rank == 0:
    print("result first", *first.weight.flatten().tolist())
dist.destroy_process_group()
