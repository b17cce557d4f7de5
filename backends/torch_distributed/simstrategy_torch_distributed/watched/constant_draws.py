"""Gives a constant in place of what functions of torch draw for samples while a script trains, in a rank.

Functions of dropout leave their input as it is, as in a prediction. Random numbers are replaced by their mean where a
module's forward pass draws them, and where they are like a tensor that is no parameter. What is drawn for data,
first values and samplers stays: constants in place of data would hide every difference.
"""

import inspect
import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any, Final, final

import torch
from torch.nn import functional
from torch.nn.parameter import Parameter
from torch.overrides import TorchFunctionMode

from simstrategy.trace import describe_site
from simstrategy_torch_distributed.link import site_of

__all__ = ["ConstantDraws"]

_DISTRIBUTIONS: Final = "torch.distributions"
_Found = Mapping[str, Any]

_DROPOUT: Final = {
    vars(functional)[name]: inspect.signature(vars(functional)[name])
    for name in (
        *("alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"),
        "multi_head_attention_forward",
    )
} | {
    functional.scaled_dot_product_attention: inspect.signature(
        lambda query, key, value, attn_mask=None, dropout_p=0.0, **more: None
    )
}
"""Functions that drop elements, with their parameters, of which `p` or `dropout_p` is how many."""


def _mean_of_normal(given: tuple[Any, ...], named: _Found) -> Any:
    """Returns the mean that a call of normal or normal_ is given; its first argument, after the tensor of a method."""
    return given[0] if given else named.get("mean", 0.0)


def _middle(given: tuple[Any, ...], named: _Found) -> Any:
    low, high = (*given, *(0.0, 1.0)[len(given) :])[:2]
    return (named.get("from", low) + named.get("to", high)) / 2


def _likelier(given: tuple[Any, ...], named: _Found) -> Any:
    """Returns 0 or 1, whichever is likelier, for what bernoulli is given: shares […], or any tensor and one share."""
    share = named.get("p", given[1] if len(given) > 1 else given[0])
    return (torch.as_tensor(share) > 1 / 2).float()


def _share_of(given: tuple[Any, ...], named: _Found) -> float | None:
    """Returns how many of what bernoulli draws are ones; None where that is another share for each."""
    share = torch.as_tensor(named.get("p", given[1] if len(given) > 1 else given[0]))
    return float(share.reshape(-1)[0]) if share.numel() and bool((share == share.reshape(-1)[0]).all()) else None


_Mean = Callable[[tuple[Any, ...], _Found], Any]

_LIKE: Final[dict[Any, _Mean]] = {torch.rand_like: lambda *_: 0.5, torch.randn_like: lambda *_: 0.0}
"""Functions that return numbers for a tensor that they are given, with what is in their place."""
_NUMBERS: Final[dict[Any, _Mean]] = _LIKE | {
    torch.rand: lambda *_: 0.5,
    torch.randn: lambda *_: 0.0,
    torch.normal: _mean_of_normal,
    torch.bernoulli: _likelier,
}
"""Functions that return new numbers, with what is in their place."""
_WRITTEN: Final[dict[Any, _Mean]] = {
    torch.Tensor.normal_: _mean_of_normal,
    torch.Tensor.uniform_: _middle,
}
"""Methods that write numbers into a tensor, with what is in their place, from their arguments after the tensor."""


@final
class ConstantDraws(TorchFunctionMode):
    """Replaces draws from `begin` on.  note: receives a function and its line, in words, and a share, at each call.

    is_inside: returns whether the forward pass of a module runs.
    """

    def __init__(self, note: Callable[[str, float | None], None], is_inside: Callable[[], bool]) -> None:
        TorchFunctionMode.__init__(self)
        self._note = note
        self._is_inside = is_inside

    def begin(self) -> None:
        self.__enter__()  # type: ignore[no-untyped-call]  # for the rest of the process

    def __torch_function__(
        self, func: Any, _types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Calls a function of torch."""
        named = dict(kwargs or {})
        if func in _DROPOUT:
            found = _DROPOUT[func].bind(*args, **named)
            found.apply_defaults()
            given = found.arguments
            share = "p" if "p" in given else "dropout_p"
            if given.get("training", True) and given[share]:
                self._note_call(func, given[share])
                given[share] = 0.0
            return func(*found.args, **found.kwargs)
        made = func(*args, **named)
        if func not in _NUMBERS and func not in _WRITTEN:
            return made
        if not self._is_inside() and (func not in _LIKE or isinstance((*args, *named.values())[0], Parameter)):
            return made
        module = _module_of(sys._getframe(1))
        if module.startswith("torch.") and not module.startswith(_DISTRIBUTIONS):
            return made
        self._note_call(func, _share_of(args, named) if func is torch.bernoulli else None)
        value = _NUMBERS[func](args, named) if func in _NUMBERS else _WRITTEN[func](args[1:], named)
        with torch.no_grad():
            return made.copy_(value) if isinstance(value, torch.Tensor) else made.fill_(value)

    def _note_call(self, func: Any, share: float | None) -> None:
        self._note(f"{func.__name__} at {describe_site(site_of(sys._getframe(2)))}", share)


def _module_of(frame: FrameType) -> str:
    """Returns the name of the module that calls a function that a mode has been given."""
    while frame.f_back is not None and frame.f_globals.get("__name__") in ("torch.overrides", __name__):
        frame = frame.f_back
    return str(frame.f_globals.get("__name__"))
