"""Makes gloo lead to the simulated group: for "gloo", for no name on a machine without a GPU, and for "cpu:gloo,…".

torch's registry of backends cannot do it: the names that torch has itself do not reach the registry. So one name of
`torch.distributed` is replaced, in the process of a rank alone.
"""

from datetime import timedelta
from typing import Any, Final, NoReturn, final

import torch.distributed
from torch.distributed import distributed_c10d, rpc
from torch.distributed.distributed_c10d import Store

from simstrategy.errors import Unsupported
from simstrategy_torch_distributed.gpus.places import place
from simstrategy_torch_distributed.group import SimulatedGroup
from simstrategy_torch_distributed.joined import Ranks

__all__ = ["take_gloos_place"]

_REMOTE: Final = "init_rpc"


def take_gloos_place(ranks: Ranks) -> None:
    """Makes every process group that this process creates for CPU tensors one of simulated ranks.

    ranks: gives the rank that this process is in a default group, when it joins one.
    """

    @final
    class ProcessGroupGloo(SimulatedGroup):
        """The simulated group under the name that torch looks for, with the arguments that torch passes."""

        def __init__(self, store: Store, group_rank: int, size: int, timeout: timedelta) -> None:
            SimulatedGroup.__init__(self, ranks, store, group_rank, size, timeout)

    for module in (distributed_c10d, torch.distributed):
        vars(module)["ProcessGroupGloo"] = ProcessGroupGloo
    vars(rpc)[_REMOTE] = _refuse


def _refuse(*_: Any, **__: Any) -> NoReturn:
    raise Unsupported(
        f"torch.distributed.rpc.{_REMOTE} at {place()}: simulated ranks make the calls of init_process_group, "
        f"new_group and init_device_mesh, and remote procedures are none of these. Such a program cannot be checked."
    )
