# ranks: 2
# arguments: 3 --flag
# run as: module
"""A script that is started by the name of its module: torchrun -m as_module."""

import sys

import torch
import torch.distributed as dist
from shown import exact, show

if __name__ == "__main__":
    dist.init_process_group("gloo")
    show("started", f"{__name__} {__spec__.name} {sys.argv[1:]} {sys.argv[0].endswith('as_module.py')}")
    tensor = torch.full((int(sys.argv[1]),), 1.0 + dist.get_rank())
    dist.all_reduce(tensor)
    show("sum", exact(tensor))
    dist.destroy_process_group()
