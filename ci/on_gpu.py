"""The backends as `ci/gpu.py` examines them: whatever is on the first GPU, shared by as many ranks as are asked for.

simstrategy conform on_gpu:torch_replicas      in this folder, on a machine with a GPU
"""

import os

import numpy as np


def torch_replicas(*, replicas=None):
    """Opens the backend torch with all replicas on the first GPU."""
    import simstrategy as ss

    return ss.backend("torch", replicas=replicas, device="cuda:0")


def xla_replicas(*, replicas=None):
    """Opens the backend xla on GPUs, one for each replica; where there are fewer, the kit skips the test."""
    import simstrategy as ss

    return ss.backend("xla", replicas=replicas, platform="gpu")


def nccl(*, replicas=None):
    """Opens this process's part of nccl, on a GPU that others have as well.

    A first call is made here: NCCL reads its settings then, and they may be another job's later.
    """
    import simstrategy as ss
    from simstrategy_conformance.c10d.ranks.joining import share_gpus

    share_gpus(int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1")))
    backend = ss.backend("nccl", replicas=replicas)
    backend.all_reduce(tuple(backend.put(np.zeros(1, "float32"), one) for one in backend.local_devices), "SUM")
    return backend


def nccl_processes(*, replicas=None):
    """Opens nccl in two worker processes; this one holds the arrays."""
    from simstrategy_conformance.remote import open_remote

    return open_remote("on_gpu:nccl", 2, replicas=replicas)
