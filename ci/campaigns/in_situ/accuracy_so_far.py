"""Shows an accuracy of ignite after each batch, over all ranks."""

import ignite.distributed as idist
import torch
from ignite.metrics import Accuracy

idist.initialize("gloo")
rank, world = idist.get_rank(), idist.get_world_size()
found = torch.tensor([[1, 0, 1, 1, 0, 1, 1, 1], [0, 0, 1, 0, 1, 0, 0, 1], [1, 1, 1, 1, 0, 0, 0, 0]])
wanted = torch.tensor([[1, 0, 1, 1, 0, 1, 1, 0], [1, 1, 1, 0, 0, 1, 1, 0], [1, 1, 0, 0, 0, 0, 1, 1]])
accuracy = Accuracy()
for batch, labels in zip(found, wanted, strict=True):
    accuracy.update((batch.chunk(world)[rank], labels.chunk(world)[rank]))
    so_far = accuracy.compute()
    if rank == 0:
        print("result accuracy", so_far)
idist.finalize()
