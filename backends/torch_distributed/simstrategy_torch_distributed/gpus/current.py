"""Which device a rank has chosen: a number without a meaning on the CPU, which scripts set and ask for."""

from typing import Any, final

import torch

from simstrategy.errors import InvalidArgument
from simstrategy_torch_distributed.gpus.places import place

__all__ = ["Current"]


@final
class Current:
    """The current device of one rank.

    count: how many devices a script finds, one for each rank.
    """

    def __init__(self, index: int, count: int) -> None:
        self.index = index
        self.count = count

    def set(self, name: str, device: Any) -> None:
        """Chooses a device.  name: of the function that the script called.  Raises InvalidArgument for no device."""
        index = device if isinstance(device, int) else torch.device(device).index
        if index is not None and not 0 <= index < self.count:
            raise InvalidArgument(
                f"{name} at {place(3)} got device {index}, and {self.count} ranks have the devices 0 to "
                f"{self.count - 1}. Pass int(os.environ['LOCAL_RANK'])."
            )
        self.index = self.index if index is None else index
