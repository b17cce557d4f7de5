"""Parameters are sharded over ranks; each rank steps its shard, with clipping."""

import torch
import torch.distributed as dist

SIZE, LIMIT = 8, 0.5


def clip(gradient):
    """Scales a shard of the gradient in place, so that the norm is at most LIMIT."""
    squares = gradient.square().sum()
    norm = squares.sqrt()
    gradient.mul_((LIMIT / (norm + 1e-6)).clamp(max=1.0))


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(15)
    inputs, targets = torch.randn(16, SIZE), torch.randn(16)
    mine = slice(rank, None, world)
    shard = torch.zeros(SIZE // world)
    optimizer = torch.optim.SGD([shard], lr=0.5)
    for _ in range(3):
        shards = [torch.empty_like(shard) for _ in range(world)]
        dist.all_gather(shards, shard)
        weight = torch.cat(shards)
        gradient = 2 * inputs[mine].T @ (inputs[mine] @ weight - targets[mine]) / len(inputs)
        dist.all_reduce(gradient)
        shard.grad = gradient.chunk(world)[rank].clone()
        clip(shard.grad)
        optimizer.step()
    shards = [torch.empty_like(shard) for _ in range(world)]
    dist.all_gather(shards, shard)
    if rank == 0:
        print("result weight", *torch.cat(shards).tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
