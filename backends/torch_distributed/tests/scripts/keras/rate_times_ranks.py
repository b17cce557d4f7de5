"""The rate is multiplied by the number of ranks, though the global batch is the same."""

# check: --replicas 1,2 -- --batch-size {8//replicas}
# law: replicas
# kind: other learning rate
# step: 1
# variable: _torch_params.sequential/dense/bias

import torch
from parts import batches, begin, keras, model
from torch.nn.parallel import DistributedDataParallel

batch_size, rank, size = begin()
net = DistributedDataParallel(model())
optimizer = torch.optim.SGD(net.parameters(), lr=0.05 * size)
loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
for inputs, labels in batches(batch_size, rank, size):
    optimizer.zero_grad()
    loss_of(labels, net(inputs)).backward()
    optimizer.step()  # here
