# ranks: 2
"""Many tensors in one call, and flat buffers of gradients by hand."""

import warnings

import torch
import torch.distributed as dist
from shown import exact, show
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors

warnings.simplefilter("ignore")  # the coalesced calls are old, and still in use
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()

several = [torch.full((2,), float(rank)), torch.full((1, 3), 2.0 + rank), torch.tensor(4.0)]
dist.all_reduce_coalesced(several)
show("all_reduce_coalesced", [exact(one) for one in several])

work = dist.all_reduce_coalesced(several, op=dist.ReduceOp.MAX, async_op=True)
work.wait()
show("and MAX, later", [exact(one) for one in several])

lists = [[torch.empty(2), torch.empty(3, dtype=torch.float32)] for _ in range(size)]
dist.all_gather_coalesced(lists, [torch.full((2,), float(rank)), torch.full((3,), rank + 0.5)])
show("all_gather_coalesced", [[one.tolist() for one in each] for each in lists])

torch.manual_seed(7)
model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Linear(2, 1))
model(torch.full((1, 3), float(rank))).sum().backward()
gradients = [one.grad for one in model.parameters()]
flat = _flatten_dense_tensors(gradients)
dist.all_reduce(flat)
flat /= size
for gradient, mean in zip(gradients, _unflatten_dense_tensors(flat, gradients), strict=True):
    gradient.copy_(mean)
show("flat gradients", [exact(one) for one in gradients])
dist.destroy_process_group()
