"""Local steps with a scaler, and an average of the weights after every third step."""

import torch
import torch.distributed as dist

EVERY = 3


def overflows(gradient):
    """Returns whether the gradient has to be skipped."""
    found = torch.tensor(float(not gradient.isfinite().all()))
    dist.all_reduce(found, op=dist.ReduceOp.MAX)
    return bool(found)


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(19)
    data = torch.randn(9, 2, 4) + rank
    if rank == 1:
        data[4, 0, 0] = torch.inf
    weight, global_step = torch.zeros(4), 0
    for batch in data:
        gradient = (weight - batch).mean(0)
        if overflows(gradient):
            continue
        weight -= 0.1 * gradient
        global_step += 1
        if global_step % EVERY == 0:
            dist.all_reduce(weight)
            weight /= world
    if rank == 0:
        print("result steps", global_step)
        print("result weight", *weight.tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
