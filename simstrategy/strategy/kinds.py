"""The kinds of strategy: what distinguishes a mirrored one from one device, central storage, and none at all.

A table that the other modules of this package read; nothing here runs. Source: TensorFlow 2.21.0, as measured.
"""

from typing import Final, Literal, NamedTuple

__all__ = ["CENTRAL_STORAGE", "DEFAULT", "MIRRORED", "MULTI_WORKER", "ONE_DEVICE", "Kind"]


class Kind(NamedTuple):
    """One kind of strategy."""

    name: Literal["mirrored", "one_device", "central_storage", "multi_worker", "default"]
    wraps: bool
    """Whether its values are distributed ones; else local results are the value itself, and nothing is PerReplica."""
    central: bool
    """Whether a variable has one component, on the first device, in place of one on each."""
    spans_processes: bool
    has_collectives: bool = True
    """Whether all_reduce and all_gather combine anything; else they return their argument."""


MIRRORED: Final = Kind("mirrored", wraps=True, central=False, spans_processes=False)
MULTI_WORKER: Final = Kind("multi_worker", wraps=True, central=False, spans_processes=True)
CENTRAL_STORAGE: Final = Kind("central_storage", wraps=True, central=True, spans_processes=False)
ONE_DEVICE: Final = Kind("one_device", wraps=False, central=False, spans_processes=False)
DEFAULT: Final = Kind("default", wraps=False, central=False, spans_processes=False, has_collectives=False)
"""The strategy that is current where none was entered: one replica, and nothing is moved or changed."""
