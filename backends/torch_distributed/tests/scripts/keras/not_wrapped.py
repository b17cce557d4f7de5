"""The model is not wrapped: each rank trains alone."""

# check: --replicas 1,2 -- --batch-size {8//replicas}
# law: replicas
# kind: missing reduction
# step: 1
# variable: _torch_params.sequential/dense/bias

import torch
from parts import batches, begin, model

batch_size, rank, size = begin()
net = model()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for inputs, labels in batches(batch_size, rank, size):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(net(inputs), labels).backward()  # here
    optimizer.step()
