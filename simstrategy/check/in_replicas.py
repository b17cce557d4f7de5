"""What a wrapped backend does around each replica function, and around each synchronisation point that it reaches.

A strategy prepares replica functions and merge functions alike; merge functions are called as they are.
"""

from collections.abc import Callable, Sequence
from typing import Any

from simstrategy.device import Device
from simstrategy.run import Suspend
from simstrategy.strategy.modes import current_mode

__all__ = ["in_replicas"]

Call = Callable[[Callable[..., Any], Device, tuple[Any, ...], dict[str, Any]], Any]
"""Calls a replica function: the function, the replica's device, its arguments by position and by name."""


def in_replicas(
    function: Callable[..., Any],
    devices: Sequence[Device],
    suspend: Callable[[Device, Suspend], Suspend],
    call: Call,
) -> Callable[..., Any]:
    """Returns a prepared function that goes through `suspend` and `call` where it is called as a replica function.

    devices: of the local replicas. suspend: returns the function by which a replica reaches its synchronisation points.
    """

    def prepared(*args: Any, **kwargs: Any) -> Any:
        mode = current_mode()
        replica: Any = None if mode is None else mode.replica
        if replica is None:
            return function(*args, **kwargs)  # a merge function
        device = devices[replica.index]
        replica.suspend = suspend(device, replica.suspend)
        return call(function, device, args, kwargs)

    return prepared
