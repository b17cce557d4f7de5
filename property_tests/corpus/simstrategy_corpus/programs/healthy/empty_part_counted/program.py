"""A mean square over 3 rows, with empty parts."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(49)
rows, weight = torch.randn(3, 2), torch.zeros(2)
mine = rows[rank::world]
for _ in range(3):
    gradient = torch.cat([mine.T @ (mine @ weight - 1), torch.tensor([float(len(mine))])])
    dist.all_reduce(gradient)
    weight -= 0.3 * gradient[:2] / gradient[2]
if rank == 0:
    print("result weight", *weight.tolist())
dist.destroy_process_group()
