"""Uses of asynchronous results before they are waited for: by functions of torch, by other calls, by optimizers.

A tensor that will hold a result has another class until it is waited for, so that torch's functions which receive it
are seen; looking at its shape or making views of it is no use. Other tensors in its memory are seen in calls and
optimizers.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

import torch
from torch.optim.optimizer import Optimizer, register_optimizer_step_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode

from simstrategy_torch_distributed.calls import call_text
from simstrategy_torch_distributed.link import Pending, site_of

__all__ = ["Results"]

_WITHOUT_OPERATIONS: Final = frozenset({"tolist", "__array__"})
"""Functions that read a tensor without an operation that could be seen."""
_READS_NO_VALUE: Final = ("new_", "is_", "sym_", "size", "stride", "record_stream", "set_")
"""What the names of operations begin with that read no element of their arguments."""
_READING_CALLS: Final = frozenset({"all_reduce", "all_gather", "reduce", "reduce_scatter", "gather", "send"})

Range = tuple[int, int]


@final
@dataclass(slots=True)
class _Open:
    """A call whose results are not written.  ranges: of their memory. changed: tensors with another class."""

    text: str
    ranges: list[Range]
    changed: list[torch.Tensor] = field(default_factory=list)
    uses: set[tuple[str, int]] = field(default_factory=set)


@final
class Results:
    """Watches one rank.  send: takes a message for the law of late results."""

    def __init__(self, send: Callable[[list[Any]], None]) -> None:
        self._send = send
        self._open: dict[int, _Open] = {}
        self._classes = {kind: self._class_of(kind) for kind in (torch.Tensor, torch.nn.Parameter)}
        self._originals = {changed: kind for kind, changed in self._classes.items()}
        register_optimizer_step_pre_hook(self._stepping)

    def began(self, pending: Pending) -> None:
        """Begins to watch the results of a call, which hold no values yet."""
        ranges = [place for one in pending.result if (place := _range(one)) is not None]
        found = self._open[pending.call.number] = _Open(call_text(pending.call), ranges)
        for one in pending.result:
            self._change(one, found)

    def finished(self, pending: Pending) -> None:
        """Ends to watch the results of a call, which are written now."""
        found = self._open.pop(pending.call.number, None)
        for one in found.changed if found is not None else ():
            one.__class__ = self._originals[type(one)]

    def requested(self, kind: str, tensors: Sequence[torch.Tensor]) -> None:
        """Notes a call that the script makes.  tensors: [...] each, what it brings."""
        if self._open and kind in _READING_CALLS:
            self._look(tensors, kind, site_of(sys._getframe(1)))

    def _class_of(self, kind: type[torch.Tensor]) -> type[torch.Tensor]:
        """Returns the class that tensors of another class have until they are waited for."""
        results = self

        class Unwaited(kind):  # type: ignore[misc, valid-type]  # a class for each of torch's two
            @classmethod
            def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                return results._called(func, args, kwargs or {}, site_of(sys._getframe(1)))

        Unwaited.__name__ = Unwaited.__qualname__ = kind.__name__
        return Unwaited

    def _called(self, func: Any, args: Any, options: Any, site: tuple[str, int]) -> Any:
        """Calls a function of torch that received such a tensor, and looks at what it reads."""
        name = func.__name__
        with torch._C.DisableTorchFunctionSubclass():  # noqa: SLF001 - torch's documentation names no other
            if name in _WITHOUT_OPERATIONS:
                self._look(_tensors([args, options]), name, site)
                return func(*args, **options)
            with _Reads(lambda tensors: self._look(tensors, name, site)):
                made = func(*args, **options)
            if isinstance(made, torch.Tensor):
                for one in self._overlapping(made):
                    self._change(made, one)
            return made

    def _change(self, tensor: torch.Tensor, found: _Open) -> None:
        if type(tensor) in self._classes:
            tensor.__class__ = self._classes[type(tensor)]
            found.changed.append(tensor)

    def _stepping(self, optimizer: Optimizer, _args: Any, _options: Any) -> None:
        """Looks at what an optimizer reads; torch calls it before each step."""
        if self._open:
            parameters = [one for group in optimizer.param_groups for one in group["params"]]
            gradients = [one.grad for one in parameters if one.grad is not None]
            self._look([*parameters, *gradients], "optimizer.step", site_of(sys._getframe(1)))

    def _look(self, tensors: Sequence[torch.Tensor], how: str, site: tuple[str, int]) -> None:
        """Sends each use of a result, once for each line."""
        for one in tensors:
            for found in self._overlapping(one):
                if site not in found.uses:
                    found.uses.add(site)
                    self._send(["late", {"call": found.text, "how": how, "site": site}])

    def _overlapping(self, tensor: torch.Tensor) -> Iterator[_Open]:
        """Yields the calls whose results are in the memory of a tensor, [...]."""
        place = _range(tensor)
        if place is not None:
            for found in list(self._open.values()):
                if any(begin < place[1] and place[0] < end for begin, end in found.ranges):
                    yield found


@final
class _Reads(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's base has no types
    """Gives the tensors that operations read to a function, as long as it is entered."""

    def __init__(self, look: Callable[[list[torch.Tensor]], None]) -> None:
        TorchDispatchMode.__init__(self)  # type: ignore[no-untyped-call]
        self._look = look

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not _reads_no_value(func):
            self._look(_tensors([args, kwargs or {}]))
        return func(*args, **(kwargs or {}))


def _reads_no_value(func: Any) -> bool:
    """Returns whether an operation makes views, or reads no more than shapes."""
    name = func._schema.name.rpartition("::")[2]  # noqa: SLF001 - the only description of an operation
    returned = func._schema.returns  # noqa: SLF001
    is_view = bool(returned) and all(one.alias_info is not None and not one.alias_info.is_write for one in returned)
    return is_view or name.endswith("_like") or name.startswith(_READS_NO_VALUE)


def _tensors(nest: Any) -> list[torch.Tensor]:
    if isinstance(nest, torch.Tensor):
        return [nest]
    if isinstance(nest, dict):
        return [one for value in nest.values() for one in _tensors(value)]
    return [one for value in nest for one in _tensors(value)] if isinstance(nest, (list, tuple)) else []


def _range(tensor: torch.Tensor) -> Range | None:
    """Returns the memory of a tensor, [...], as its first and last address; None where it has gaps or is not here."""
    if not tensor.is_cpu or tensor.layout != torch.strided or not tensor.numel() or not tensor.is_contiguous():
        return None
    begin = tensor.data_ptr()
    return begin, begin + tensor.numel() * tensor.element_size()
