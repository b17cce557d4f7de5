"""Each rank clips its own gradients, before they are averaged."""

# check: --replicas 1,2 -- --batch-size {8//replicas}
# law: replicas
# kind: clipping before the sum
# step: 1
# variable: _torch_params.sequential/dense/bias

import torch
import torch.distributed as dist
from parts import batches, begin, model

batch_size, rank, size = begin()
net = model()
optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
for inputs, labels in batches(batch_size, rank, size):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(net(inputs), labels).backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
    for parameter in net.parameters():
        dist.all_reduce(parameter.grad)  # here
        parameter.grad /= size
    optimizer.step()
