"""The backends as `ci/gpu.py` examines them: whatever is on the first GPU, shared by as many ranks as are asked for.

simstrategy conform on_gpu:torch_replicas      in this folder, on a machine with a GPU
"""

import os

SHARED_GPU = {"NCCL_MULTI_RANK_GPU_ENABLE": "1", "NCCL_NVLS_ENABLE": "0", "NCCL_MAX_CTAS": "2"}
SHARED_FROM = (2, 30, 3)
"""The version of NCCL that lets several ranks have one GPU."""


def share_the_gpu(rank, version):
    """Lets this process's NCCL share a GPU with other ranks; before that version, as if each had a machine."""
    if tuple(version) >= SHARED_FROM:
        os.environ.update(SHARED_GPU)
    else:
        os.environ.update({"NCCL_HOSTID": f"rank{rank}", "NCCL_SOCKET_IFNAME": "lo"})


def torch_replicas(*, replicas=None):
    """Opens the backend torch with all replicas on the first GPU."""
    import simstrategy as ss

    return ss.backend("torch", replicas=replicas, device="cuda:0")


def xla_replicas(*, replicas=None):
    """Opens the backend xla on GPUs, one for each replica; where there are fewer, the kit skips the test."""
    import simstrategy as ss

    return ss.backend("xla", replicas=replicas, platform="gpu")


def nccl(*, replicas=None):
    """Opens this process's part of nccl, on a GPU that others have as well."""
    import torch

    import simstrategy as ss

    share_the_gpu(os.environ.get("RANK", "0"), torch.cuda.nccl.version())
    return ss.backend("nccl", replicas=replicas)


def nccl_processes(*, replicas=None):
    """Opens nccl in two worker processes; this one holds the arrays."""
    from simstrategy_conformance.remote import open_remote

    return open_remote("on_gpu:nccl", 2, replicas=replicas)
