"""An optimizer of Keras, whose gradients are averaged over the ranks: lawful."""

# check: --replicas 1,2 -- --batch-size {8//replicas}

import torch
import torch.distributed as dist
from parts import batches, begin, keras, model

batch_size, rank, size = begin()
net = model()
optimizer = keras.optimizers.Adam(learning_rate=0.01)
loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
for inputs, labels in batches(batch_size, rank, size):
    net.zero_grad()
    loss_of(labels, net(inputs)).backward()
    gradients = [one.value.grad for one in net.trainable_weights]
    for gradient in gradients:
        dist.all_reduce(gradient)
        gradient /= size
    with torch.no_grad():
        optimizer.apply_gradients(zip(gradients, net.trainable_weights, strict=True))
