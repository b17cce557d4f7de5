"""Mixed precision with dynamic loss scaling, gradients averaged by hand."""

import torch
import torch.distributed as dist


class LossScaler:
    """Doubles its scale after two finite steps, and halves it after an overflow."""

    def __init__(self):
        self.scale, self.finite_steps = 2.0**14, 0

    def update(self, overflowed):
        found = torch.tensor(float(overflowed))
        if found.item():
            self.scale, self.finite_steps = self.scale / 2, 0
            return
        self.finite_steps += 1
        if self.finite_steps % 2 == 0:
            self.scale *= 2


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(18)
    inputs, targets = torch.randn(12, 3), torch.randn(12)
    inputs[0] *= 12  # a large row: on rank 0 the scaled loss overflows in float16
    mine = slice(rank, None, world)
    weight, scaler = torch.zeros(3), LossScaler()
    for _ in range(6):
        errors = inputs[mine] @ weight - targets[mine]
        scaled = (inputs[mine] * errors[:, None]).mean(0) * scaler.scale
        overflowed = bool(scaled.half().isinf().any())
        dist.all_reduce(scaled)
        weight -= 0.01 * scaled / scaler.scale / world
        scaler.update(overflowed)
    print(f"rank {rank} weight", *weight.tolist(), flush=True)


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
