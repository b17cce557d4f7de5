"""What PyTorch keeps per thread, picked up where replicas are started and restored where they run."""

from contextlib import ExitStack
from typing import final

import torch

__all__ = ["On"]


@final
class On:
    """A context manager, made in the caller's thread and entered once, in any: its gradient mode and autocast.

    It places nothing: all tensors are on the CPU.
    """

    __slots__ = ("_autocast", "_gradients", "_stack")

    def __init__(self) -> None:
        self._gradients = torch.is_grad_enabled()
        self._autocast = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else None
        self._stack: ExitStack | None = None

    def __enter__(self) -> None:
        if self._gradients == torch.is_grad_enabled() and self._autocast is None:
            return
        self._stack = ExitStack()
        self._stack.enter_context(torch.set_grad_enabled(self._gradients))
        if self._autocast is not None:
            self._stack.enter_context(torch.autocast("cpu", dtype=self._autocast))

    def __exit__(self, *_: object) -> None:
        if self._stack is not None:
            self._stack.close()
