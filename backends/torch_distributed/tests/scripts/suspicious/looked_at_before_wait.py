# ranks: 2
"""Results that are not there yet are looked at: shapes, views, tensors like them; parts of one buffer are used."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
buffer = torch.ones(8)
first, second = buffer[:4], buffer[4:]
work = dist.all_reduce(first, async_op=True)
view, like = first.view(2, 2), torch.zeros_like(first)
assert first.shape == view.reshape(4).shape and len(first) == first.numel() == 4
assert like.sum() == 0 and first.new_ones(2).sum() == 2 and not first.requires_grad
second.mul_(3.0 + rank)  # beside the result
held = [first.detach(), first.unsqueeze(0), {"of": first}]
work.wait()
gathered = [torch.empty(4) for _ in range(2)]
work = dist.all_gather(gathered, second, async_op=True)
first.add_(view.sum())
work.wait()
assert type(first) is type(held[0]) is type(view) is torch.Tensor
if rank == 0:
    print(buffer.tolist(), torch.stack(gathered).tolist(), held[0].tolist(), like.tolist())
dist.destroy_process_group()
