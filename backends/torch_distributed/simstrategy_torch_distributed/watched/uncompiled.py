"""`torch.compile` in a rank: what it is given runs as it is.

A compiled function differs in speed and rounding. Uncompiled, its modules, lines and collectives can be observed, and
a short run has no compilation to wait for. What is returned looks like what torch returns: a module's wrapper has
`_orig_mod`, and its state has torch's names.
"""

import inspect
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch.nn.parallel import DataParallel, DistributedDataParallel

from simstrategy.trace import describe_site
from simstrategy_torch_distributed.link import site_of
from simstrategy_torch_distributed.watched.entries import FILE, append

__all__ = ["named_parameters", "run_uncompiled"]

_WRAPPED: Final = "_orig_mod"
_OF_MODULES: Final = "torch.nn.modules.module"
"""The module of `Module.compile`, which calls `torch.compile` for the script."""


@dataclass(slots=True)
class _Process:
    """What this process does.  is_replaced: whether `torch.compile` compiles nothing. speaks: as of `run_uncompiled`.

    is_described: whether it has been said, or written, that nothing is compiled.
    """

    is_replaced: bool = False
    speaks: bool = False
    is_described: bool = False


_PROCESS: Final = _Process()


def run_uncompiled(*, speaks: bool) -> None:
    """Makes `torch.compile` compile nothing from now on in this process, and in those that it forks.

    speaks: whether the process says so when the script compiles first, unless it is recorded for a check.
    """
    _PROCESS.speaks = speaks
    if _PROCESS.is_replaced:
        return
    _PROCESS.is_replaced = True
    original = torch.compile

    def compile(model: Any = None, **options: Any) -> Any:  # noqa: A001 - torch's name
        module = str(sys._getframe(1).f_globals.get("__name__"))
        if module.startswith("torch.") and module != _OF_MODULES:
            return original(model, **options)  # torch's own functions, such as flex_attention, need what it gives
        inspect.signature(original).bind(model, **options)
        site = site_of(sys._getframe(1))
        if site[0] and not _PROCESS.is_described:
            _PROCESS.is_described = True
            _describe(describe_site(site), speaks=_PROCESS.speaks)
        as_it_is = _itself if options.get("disable") else _as_it_is
        return as_it_is if model is None else as_it_is(model)

    compile.__doc__ = original.__doc__
    vars(torch)["compile"] = compile


def named_parameters(module: torch.nn.Module) -> Iterator[tuple[str, torch.nn.Parameter]]:
    """Yields the parameters of a module, [...] each, with the names that they have inside of wrappers.

    Wrappers are those of DistributedDataParallel, DataParallel and `torch.compile`, also of a part of the module: a
    script may wrap nothing, or something else, where it has one rank.

    >>> wrapped = torch.compiler.disable(torch.nn.Sequential(torch.nn.DataParallel(torch.nn.Linear(2, 1))))
    >>> [name for name, _ in named_parameters(wrapped)]
    ['0.weight', '0.bias']
    """
    wrapped = [(name, inner) for name, one in module.named_modules() if (inner := _inside(one)) is not None]
    prefixes = {f"{name}.{inner}." if name else f"{inner}." for name, inner in wrapped}
    for name, parameter in module.named_parameters():
        ends = [at for at in range(len(name)) if name[:at] in prefixes]
        for end in reversed(ends):
            outer, dot, _ = name[: end - 1].rpartition(".")
            name = f"{outer}{dot}{name[end:]}"  # noqa: PLW2901 - from the inside out
        yield name, parameter


def _inside(module: torch.nn.Module) -> str | None:
    """Returns the name under which a wrapper has what it wraps; None for a module that is no wrapper."""
    if isinstance(module, (DataParallel, DistributedDataParallel)):
        return "module"
    return _WRAPPED if _WRAPPED in module._modules else None  # noqa: SLF001 - the public way raises where there is none


def _as_it_is(model: Callable[..., Any]) -> Any:
    if not isinstance(model, torch.nn.Module):
        return model
    return torch.compiler.disable(model)  # type: ignore[no-untyped-call]  # torch's


def _itself(model: Callable[..., Any]) -> Any:
    return model


def _describe(place: str, *, speaks: bool) -> None:
    file = os.environ.get(FILE)
    if file is not None:
        append(file, "uncompiled", {"place": place}, [])
    elif speaks:
        sys.stderr.write(f"simstrategy: torch.compile at {place} compiles nothing: it returns what it is given.\n")
