"""An optimizer of Keras on each rank: nothing combines the gradients."""

# check: --replicas 1,2 -- --batch-size {8//replicas}
# law: replicas
# kind: missing reduction
# step: 1
# variable: _torch_params.sequential/dense/kernel

import torch
from parts import batches, begin, keras, model

batch_size, rank, size = begin()
net = model()
optimizer = keras.optimizers.SGD(learning_rate=0.05)
loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
for inputs, labels in batches(batch_size, rank, size):
    net.zero_grad()
    loss_of(labels, net(inputs)).backward()  # here
    gradients = [one.value.grad for one in net.trainable_weights]
    with torch.no_grad():
        optimizer.apply(gradients, net.trainable_weights)
