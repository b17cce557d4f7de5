"""What the process imports from which ranks of gloo are forked. Only that process imports this module.

OpenMP reads its number of threads when torch is imported; ranks with a thread for each core wait for each other.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import torch.distributed.fsdp
import torch.distributed.nn.functional
import torch.nn.parallel  # noqa: F401
