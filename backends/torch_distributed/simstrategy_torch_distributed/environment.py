"""The environment variables that torchrun sets for a rank of one machine, and the one by which ranks have CPUs."""

import os
from collections.abc import Mapping
from typing import Final

__all__ = ["OF_RANKS", "cpu_variable", "threads_variable", "variables"]

_SIGNALS: Final = "SIGTERM,SIGINT,SIGHUP,SIGQUIT"


def variables(rank: int, size: int, port: int, run_id: str, error_file: str) -> dict[str, str]:
    """Returns the variables of one rank: those of torchrun 2.13 with one node.

    port: of the store; run_id: the name of the run.
    """
    return {
        "LOCAL_RANK": str(rank),
        "RANK": str(rank),
        "GROUP_RANK": "0",
        "ROLE_RANK": str(rank),
        "ROLE_NAME": "default",
        "LOCAL_WORLD_SIZE": str(size),
        "WORLD_SIZE": str(size),
        "GROUP_WORLD_SIZE": "1",
        "ROLE_WORLD_SIZE": str(size),
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": str(port),
        "TORCHELASTIC_RESTART_COUNT": "0",
        "TORCHELASTIC_MAX_RESTARTS": "0",
        "TORCHELASTIC_RUN_ID": run_id,
        "TORCHELASTIC_USE_AGENT_STORE": "True",
        "TORCHELASTIC_SIGNALS_TO_HANDLE": _SIGNALS,
        "TORCHELASTIC_ERROR_FILE": error_file,
        "TORCH_NCCL_ASYNC_ERROR_HANDLING": os.environ.get("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"),
    }


def threads_variable(size: int, given: Mapping[str, str]) -> dict[str, str]:
    """Returns the variable that limits threads, as torchrun sets it for more than one rank."""
    return {"OMP_NUM_THREADS": "1"} if size > 1 and "OMP_NUM_THREADS" not in given else {}


def cpu_variable(device: str, given: Mapping[str, str]) -> dict[str, str]:
    """Returns the variable by which `accelerate launch --cpu` gives ranks CPUs.  device: of `Settings`.

    Without it accelerate, and transformers' Trainer with it, joins ranks on GPUs alone: each would train by itself.
    Clause: G-122.
    """
    return {"ACCELERATE_USE_CPU": "true"} if device == "cpu" and "ACCELERATE_USE_CPU" not in given else {}


OF_RANKS: Final = tuple(variables(0, 1, 0, "", ""))
"""The names of these variables, which the process that starts ranks has no such values of."""
