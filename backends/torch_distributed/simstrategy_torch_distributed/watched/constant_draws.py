"""Gives a constant in place of what functions of torch draw for samples while a script trains, in a rank.

Functions of dropout leave their input as it is, as in a prediction. Random numbers are replaced by their mean, or by
another constant, where a module's forward pass draws them, and where they are like a tensor that is no parameter. What
is drawn for data, first values and samplers stays: constants in place of data would hide every difference.
"""

import inspect
import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any, Final, Protocol, final

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


def _of_normal(place: float, given: tuple[Any, ...], named: _Found) -> Any:
    """Returns a constant for what normal or normal_ is given: mean and deviation, after the tensor of a method."""
    mean, deviation = (*given, *(0.0, 1.0)[len(given) :])[:2]
    mean = named.get("mean", mean)
    return mean + place * named.get("std", deviation) if place else mean


def _of_uniform(place: float, given: tuple[Any, ...], named: _Found) -> Any:
    low, high = (*given, *(0.0, 1.0)[len(given) :])[:2]
    low, high = named.get("from", low), named.get("to", high)
    return (low + high) / 2 + place * (high - low) / 4


def _of_bernoulli(place: float, given: tuple[Any, ...], named: _Found) -> Any:
    """Returns 0 or 1 for what bernoulli is given: shares […], or any tensor and one share.

    It is the likelier one, or the other one elsewhere.
    """
    share = named.get("p", given[1] if len(given) > 1 else given[0])
    likelier = (torch.as_tensor(share) > 1 / 2).float()
    return 1 - likelier if place else likelier


def _share_of(given: tuple[Any, ...], named: _Found) -> float | None:
    """Returns how many of what bernoulli draws are ones; None where that is another share for each."""
    share = torch.as_tensor(named.get("p", given[1] if len(given) > 1 else given[0]))
    return float(share.reshape(-1)[0]) if share.numel() and bool((share == share.reshape(-1)[0]).all()) else None


_Constant = Callable[[float, tuple[Any, ...], _Found], Any]

_ELSEWHERE: Final = 1.0
"""Where another constant than the mean is: so many deviations of normal numbers above it.

No factor leaves it as it is, as it does zeros.
"""
_LIKE: Final[dict[Any, _Constant]] = {
    torch.rand_like: lambda place, *_: _of_uniform(place, (), {}),
    torch.randn_like: lambda place, *_: place,
}
"""Functions that return numbers for a tensor that they are given, with what is in their place."""
_NUMBERS: Final[dict[Any, _Constant]] = _LIKE | {
    torch.rand: lambda place, *_: _of_uniform(place, (), {}),
    torch.randn: lambda place, *_: place,
    torch.normal: _of_normal,
    torch.bernoulli: _of_bernoulli,
}
"""Functions that return new numbers, with what is in their place."""
_WRITTEN: Final[dict[Any, _Constant]] = {
    torch.Tensor.normal_: _of_normal,
    torch.Tensor.uniform_: _of_uniform,
}
"""Methods that write numbers into a tensor, with what is in their place, from their arguments after the tensor."""


class Note(Protocol):
    """Receives a draw."""

    def __call__(self, name: str, share: float | None, *, is_constant: bool) -> None:
        """name: of a function, with its line."""


@final
class ConstantDraws(TorchFunctionMode):
    """Replaces draws from `begin` on.

    note: receives a function and its line, in words, a share, and whether a constant is in its place, at each call.
    is_inside: returns whether the forward pass of a module runs. is_elsewhere: whether the constant is another one than
    the mean.
    """

    def __init__(self, note: Note, is_inside: Callable[[], bool], *, is_elsewhere: bool = False) -> None:
        TorchFunctionMode.__init__(self)
        self._note = note
        self._is_inside = is_inside
        self._place = _ELSEWHERE if is_elsewhere else 0.0

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
                self._note_call(func, given[share], is_constant=False)
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
        self._note_call(func, _share_of(args, named) if func is torch.bernoulli else None, is_constant=True)
        of_call = (args, named) if func in _NUMBERS else (args[1:], named)
        value = (_NUMBERS | _WRITTEN)[func](self._place, *of_call)
        with torch.no_grad():
            return made.copy_(value) if isinstance(value, torch.Tensor) else made.fill_(value)

    def _note_call(self, func: Any, share: float | None, *, is_constant: bool) -> None:
        self._note(f"{func.__name__} at {describe_site(site_of(sys._getframe(2)))}", share, is_constant=is_constant)


def _module_of(frame: FrameType) -> str:
    """Returns the name of the module that calls a function that a mode has been given."""
    while frame.f_back is not None and frame.f_globals.get("__name__") in ("torch.overrides", __name__):
        frame = frame.f_back
    return str(frame.f_globals.get("__name__"))
