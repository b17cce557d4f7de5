"""Simulated ranks as a backend of `torch.distributed` that the conformance kit examines: `c10d:simulated`.

The kit starts the command with the words that run a rank behind it. They take gloo's name, so the kit finds them by the
name of their object.
"""

from typing import Final

__all__ = ["SIMULATED"]

SIMULATED: Final = {
    "backend": "gloo",
    "command": ("{python}", "-m", "simstrategy", "torchrun", "--nproc-per-node", "{ranks}"),
    "object": "simulated",
}
