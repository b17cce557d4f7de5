"""Prints a value of every rank, in rank order, on rank 0: the scripts of this folder import it, as scripts import files."""

import torch.distributed as dist


def show(name, value):
    """Prints what each rank has.  Called by all ranks."""
    lines = [None] * dist.get_world_size()
    dist.all_gather_object(lines, f"{name} {value}")
    if dist.get_rank() == 0:
        for rank, line in enumerate(lines):
            print(f"rank {rank}: {line}")


def exact(tensor):
    """Returns shape, dtype and all elements of a tensor, floats as hexadecimal digits."""
    flat = tensor.detach().reshape(-1)
    flat = (flat.double() if flat.is_floating_point() else flat).tolist()
    return f"{list(tensor.shape)} {tensor.dtype} {[one.hex() if isinstance(one, float) else one for one in flat]}"


def rounded(values, digits=4):
    """Returns a nest of numbers or tensors as lists of rounded numbers; minus zero is zero."""
    if hasattr(values, "tolist"):
        values = values.detach().tolist()
    if isinstance(values, (list, tuple)):
        return [rounded(one, digits) for one in values]
    return round(float(values), digits) + 0.0
