"""The environment variables that torchrun sets for a rank of one machine."""

import os
from collections.abc import Mapping
from typing import Final

__all__ = ["OF_RANKS", "threads_variable", "variables"]

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


OF_RANKS: Final = tuple(variables(0, 1, 0, "", ""))
"""The names of these variables, which the process that starts ranks has no such values of."""
