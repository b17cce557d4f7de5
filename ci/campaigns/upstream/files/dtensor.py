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
