"""Where tensors are, and what PyTorch keeps per thread: picked up where replicas start, restored where they run."""

from contextlib import ExitStack
from typing import Any, final

import torch

from simstrategy.errors import BackendUnavailable, InvalidArgument
from simstrategy.short_repr import short_repr

__all__ = ["On", "finished", "gpu_of", "placement_named"]


def placement_named(device: Any) -> str:
    """Returns PyTorch's full name of a device that is here, such as cpu or cuda:0.

    Raises InvalidArgument for what names none of a kind that serves, and BackendUnavailable for a GPU that is not here.
    """
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise InvalidArgument(f'device is "cpu" or a GPU such as "cuda:0", got {short_repr(device)}.') from error
    if found.type == "cpu":
        return "cpu"
    if found.type != "cuda":
        raise InvalidArgument(f'device is "cpu" or a GPU such as "cuda:0"; nothing is known of {short_repr(device)}.')
    return gpu_of(found.index or 0, wrap=False)


def gpu_of(number: int, *, wrap: bool = True) -> str:
    """Returns the name of a GPU of this machine; wrap: beyond the last, processes share them.

    Raises BackendUnavailable where there is none.
    """
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if not count:
        raise BackendUnavailable(
            f"PyTorch {torch.__version__} finds no GPU here. Install a build with CUDA on a machine that has one "
            f"(nvidia-smi lists them), or use the CPU: the backends torch and gloo."
        )
    if number >= count and not wrap:
        raise BackendUnavailable(f"There is no GPU {number}: this machine has {count}, cuda:0 to cuda:{count - 1}.")
    return f"cuda:{number % count}"


def finished(placement: str) -> None:
    """Returns when a device has finished its work; a CPU works synchronously."""
    if placement.startswith("cuda"):
        torch.cuda.synchronize(placement)


@final
class On:
    """A context manager, made in the caller's thread and entered once, in any: its gradient mode, autocast and stream.

    On a GPU, PyTorch would run the backward passes of a device in one thread, where a replica that waits for the
    others would block them: here a pass runs in the task that started it.
    """

    __slots__ = ("_autocast", "_gradients", "_kind", "_placement", "_stack", "_stream")

    def __init__(self, placement: str) -> None:
        kind = self._kind = "cuda" if placement.startswith("cuda") else "cpu"
        self._placement = placement
        self._gradients = torch.is_grad_enabled()
        self._autocast = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else None
        self._stream = torch.cuda.current_stream(placement) if kind == "cuda" else None
        self._stack: ExitStack | None = None

    def __enter__(self) -> None:
        on_cpu = self._placement == "cpu"
        if on_cpu and self._gradients == torch.is_grad_enabled() and self._autocast is None:
            return
        stack = self._stack = ExitStack()
        stack.enter_context(torch.set_grad_enabled(self._gradients))
        if self._autocast is not None:
            stack.enter_context(torch.autocast(self._kind, dtype=self._autocast))
        if not on_cpu:
            stack.enter_context(torch.autograd.set_multithreading_enabled(False))
        if self._stream is not None:
            stack.enter_context(torch.cuda.stream(self._stream))

    def __exit__(self, *_: object) -> None:
        if self._stack is not None:
            self._stack.close()
