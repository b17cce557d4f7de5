"""Plants a fault in a rank, for the law of faults: at one of its calls, or in what a model is given.

It also observes what comes of it: where the script has caught the error, and how many calls of models there were.
"""

import os
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from typing import Any, Final, final

import torch
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

from simstrategy.run.frames import is_users
from simstrategy.run.status import raised_where
from simstrategy_torch_distributed.given import named_in
from simstrategy_torch_distributed.link import Link

__all__ = ["PlantedError", "Planting", "planting_of"]

_SIGNALS: Final = {"dead": signal.SIGKILL, "stopped": signal.SIGSTOP}


class PlantedError(RuntimeError):
    """Raised by the law of faults in one rank: it stands for any exception of a program, a framework or a device."""


@final
class Planting:
    """The fault of one rank.  kind, point: as of a `Fault`; link: of the rank."""

    def __init__(self, link: Link, kind: str, point: int) -> None:
        self._link = link
        self._kind = kind
        self._point = point
        self._arrived = 0
        self._models = 0
        self._depth = 0
        self._raised: list[PlantedError] = []
        register_module_forward_pre_hook(self._entered)  # type: ignore[arg-type]  # torch's type lacks results
        register_module_forward_hook(self._left, always_call=True)

    def bring(self, tensors: Sequence[torch.Tensor]) -> None:
        """Writes inf into the first tensor of floats that the rank brings to its next call, if planted there.

        tensors: [...] each. It is in the tensor, so that the rank itself has what the others receive.
        """
        if self._kind == "inf" and self._arrived + 1 == self._point:
            one = next((one for one in tensors if _takes_inf(one)), None)
            if one is not None:
                self._planted()
                one.detach()[(0,) * one.ndim] = float("inf")

    def arrive(self) -> None:
        """Counts a call of the rank; raises, ends or stops at the one where that is planted."""
        self._arrived += 1
        if self._arrived != self._point or self._kind not in ("exception", "early end", *_SIGNALS):
            return
        self._planted()
        if self._kind == "exception":
            self._raised.append(PlantedError("Planted by the law of faults: it stands for any error in one rank."))
            raise self._raised[0]
        if self._kind in _SIGNALS:
            os.kill(os.getpid(), _SIGNALS[self._kind])
            return  # if it is continued
        if threading.current_thread() is not threading.main_thread():
            os._exit(0)
        raise SystemExit(0)

    def end(self, text: str) -> None:
        """Sends what was observed, when the script has ended.  text: how, which begins with its error."""
        facts: dict[str, Any] = {"inputs": self._models}
        for error in (*self._raised, *self._link.errors):
            site = None if text.startswith(raised_where(error)) else _caught_at(error)
            if site is not None:
                facts["caught"] = site
                break
        self._link.observed(["fault", facts])

    def _planted(self) -> None:
        self._link.observed(["fault", {"is_planted": True}])

    def _entered(self, _module: torch.nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Counts a call that the script makes of a model with floats; torch calls it before each module."""
        self._depth += 1
        if self._depth > 1 or not torch.is_grad_enabled():
            return None
        given = dict(enumerate(inputs))
        named = named_in(sys._getframe(1))
        place = next((place for place, one in (given | named).items() if _takes_inf(one)), None)
        if place is None:
            return None
        self._models += 1
        if self._kind != "inf in its input" or self._models != self._point:
            return None
        self._planted()
        changed: dict[Any, Any] = named if place in named else given
        changed[place] = _with_inf(changed[place])
        return tuple(given.values())

    def _left(self, _module: torch.nn.Module, _inputs: Any, _outputs: Any) -> None:
        self._depth = max(0, self._depth - 1)


def planting_of(link: Link, given: Sequence[Any] | None) -> Planting | None:
    """Returns what plants the fault of a rank; None where nothing is observed of one.  given: kind and point."""
    return None if given is None else Planting(link, given[0], given[1])


def _takes_inf(value: object) -> bool:
    """Returns whether a value is a dense tensor […] of floats with elements."""
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided or not value.numel():
        return False
    return value.dtype.is_floating_point and type(value) in (torch.Tensor, torch.nn.Parameter)


def _with_inf(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a tensor […] whose first element is inf, in the given one's graph."""
    place = torch.zeros(tensor.numel(), dtype=torch.bool)
    place[0] = True
    return tensor.masked_fill(place.reshape(tensor.shape), float("inf"))


def _caught_at(error: BaseException) -> list[Any] | None:
    """Returns file and line of the script where an error was caught; None where it was not raised there."""
    for frame, line in traceback.walk_tb(error.__traceback__):
        if is_users(frame):
            return [frame.f_code.co_filename, line]
    return None
