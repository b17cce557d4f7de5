"""A layer normalisation, whose statistics are those of a row, and a loss of Keras."""

# check: --replicas 1,2 -- --batch-size {8//replicas}

import torch
from parts import batches, begin, keras, model
from torch.nn.parallel import DistributedDataParallel

batch_size, rank, size = begin()
net = DistributedDataParallel(model(keras.layers.LayerNormalization()))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
for inputs, labels in batches(batch_size, rank, size):
    optimizer.zero_grad()
    loss_of(labels, net(inputs)).backward()
    optimizer.step()
