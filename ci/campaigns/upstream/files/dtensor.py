"""Operations on sharded tensors."""

import warnings

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from simstrategy.errors import SimStrategyError
from simstrategy_torch_distributed import observe

warnings.simplefilter("ignore")
dist.init_process_group("gloo")
MESH = init_device_mesh("cpu", (dist.get_world_size(),))


def drawn(seed):
    return torch.Generator().manual_seed(seed)


def whole(value):
    if isinstance(value, (tuple, list)):
        return [whole(one) for one in value]
    return value.full_tensor() if isinstance(value, DTensor) else value


PROGRAMS = {}


def leaves(name, value):
    if isinstance(value, dict):
        for key, one in value.items():
            yield from leaves(f"{name}[{key}]", one)
    elif isinstance(value, (list, tuple)):
        for key, one in enumerate(value):
            yield from leaves(f"{name}[{key}]", one)
    else:
        yield name, value


for name, program in PROGRAMS.items():
    try:
        found = dict(leaves(name, program()))
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        NotImplementedError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        if isinstance(error, SimStrategyError):
            raise
        found = {f"{name} raises {type(error).__name__}": 0.0}
    dist.barrier()
    for path, value in found.items():
        observe(path, value)
