"""An optimizer of Keras: the gradients are summed over the ranks and not divided."""

# check: --replicas 1,2 -- --batch-size {8//replicas}
# law: replicas
# kind: sum of means
# step: 1
# variable: _torch_params.sequential/dense/kernel

import torch
import torch.distributed as dist
from parts import batches, begin, keras, model

batch_size, rank, size = begin()
net = model()
optimizer = keras.optimizers.SGD(learning_rate=0.05)
loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
for inputs, labels in batches(batch_size, rank, size):
    net.zero_grad()
    loss_of(labels, net(inputs)).backward()
    gradients = [one.value.grad for one in net.trainable_weights]
    for gradient in gradients:
        dist.all_reduce(gradient)  # here
    with torch.no_grad():
        optimizer.apply(gradients, net.trainable_weights)
