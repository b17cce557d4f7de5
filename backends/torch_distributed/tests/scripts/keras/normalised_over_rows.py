"""A batch normalisation: each rank has the mean and the variance of its own rows."""

# check: --replicas 1,2 -- --batch-size {8//replicas}
# law: replicas
# kind: statistics per replica
# step: 1
# variable: _torch_params.sequential/batch_normalization/beta

import torch
from parts import batches, begin, keras, model
from torch.nn.parallel import DistributedDataParallel

batch_size, rank, size = begin()
net = DistributedDataParallel(model(keras.layers.BatchNormalization()))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
for inputs, labels in batches(batch_size, rank, size):
    optimizer.zero_grad()
    loss_of(labels, net(inputs, training=True)).backward()  # here
    optimizer.step()
