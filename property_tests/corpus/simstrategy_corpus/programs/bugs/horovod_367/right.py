"""The chief restores a checkpoint, and all ranks begin with its variables."""

import torch
import torch.distributed as dist


def broadcast_global_variables(variables):
    """Gives all ranks the chief's values.  variables: tensors by name."""
    for name in sorted(variables):
        dist.broadcast(variables[name], src=0)


def main():
    dist.init_process_group("gloo")
    is_chief = dist.get_rank() == 0
    torch.manual_seed(26)
    variables = {"bias": torch.zeros(3), "weight": torch.randn(3, 2)}
    saved = {"bias": torch.ones(3), "weight": torch.ones(3, 2)}
    if is_chief:
        variables.update(saved)
        step = torch.tensor(7)
    else:
        step = torch.tensor(0)
    dist.broadcast(step, src=0)
    broadcast_global_variables(variables)
    total = torch.stack([one.sum() for one in variables.values()])
    dist.all_reduce(total)
    print(f"rank {dist.get_rank()} total", *total.tolist(), flush=True)


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
