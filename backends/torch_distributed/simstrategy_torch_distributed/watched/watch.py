"""Watches the optimizers of a rank: what parameters are before each step and in the end, and what gradients are.

Public hooks of torch alone are used. What is found goes to the rank's file, entry by entry.
"""

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, final

import torch
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_module_registration_hook,
)
from torch.nn.parallel import DistributedDataParallel
from torch.nn.parameter import is_lazy
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from simstrategy_torch_distributed.generators import GLOBAL
from simstrategy_torch_distributed.given import leaves_in, named_in
from simstrategy_torch_distributed.link import site_of
from simstrategy_torch_distributed.watched.closures import Beginning, Given
from simstrategy_torch_distributed.watched.entries import append
from simstrategy_torch_distributed.watched.first_inputs import FirstInputs
from simstrategy_torch_distributed.watched.gradients import gradients_of, parameters_of
from simstrategy_torch_distributed.watched.joining import Joining
from simstrategy_torch_distributed.watched.keras_steps import KerasOptimizer, KerasSteps
from simstrategy_torch_distributed.watched.moving import Moves, Narrow
from simstrategy_torch_distributed.watched.names import Names
from simstrategy_torch_distributed.watched.parts import Part, copy_of, is_readable, part_of
from simstrategy_torch_distributed.watched.seeds import Reseeding, Seedings
from simstrategy_torch_distributed.watched.shared import Shared
from simstrategy_torch_distributed.watched.uncompiled import named_parameters
from simstrategy_torch_distributed.watched.written import Written

__all__ = ["Watch"]

_WHOLE_BYTES: Final = 32 << 20
"""Up to how many bytes of parameters are kept in all; of later steps only the last one is."""
_BYPASSED: Final = "forward pass without DistributedDataParallel"
_BROADCAST: Final = "broadcast"
_STOPPED: Final = "collective without a gradient"
_COMBINED: Final = {"SUM": "SUM", "AVG": "MEAN"}


@final
class Watch:
    """The watch of one rank.  file: for the entries. moves: what moves parameters and inputs; None for nothing.

    detailed: whether gradients, collectives, seeds and what the script's names hold are kept as well. reseeding: gives
    other seeds; None for none. shared: what records the values of all calls; None for nothing. calls: returns how many
    calls the rank has made.
    """

    def __init__(
        self,
        file: str,
        moves: Moves | None,
        *,
        detailed: bool,
        calls: Callable[[], int],
        reseeding: Reseeding | None = None,
        shared: Shared | None = None,
    ) -> None:
        self.shared = shared
        self.joining = Joining()
        self._keras = KerasSteps(self._before_step, self._after_step)
        self._file = file
        self._made = calls
        self._reseeding = reseeding
        self._moves = moves
        self._detailed = detailed
        self._names: dict[torch.Tensor, str] = {}
        self._statistics: dict[torch.Tensor, int | None] = {}
        """The version that a parameter without a gradient had when it was named; None once it was written: Keras keeps
        the statistics of a normalisation in such parameters."""
        self._taken: Counter[str] = Counter()
        self._modules: dict[torch.nn.Module, bool] = {}
        """The modules that were called, and those inside of them: whether the script calls them itself."""
        self._optimizers: dict[Optimizer | KerasOptimizer, None] = {}
        """Those that have made a step."""
        self._last: dict[torch.Tensor, int] = {}
        """For each parameter the number of the last step that has written it, by whatever optimizer."""
        self._written = Written()
        self._running: list[Optimizer | KerasOptimizer] = []
        self._beginning = Beginning()
        self._step = 0
        self._made_before = 0
        """How many calls there were before the last step."""
        self._calls = 0
        self._bytes: Counter[str] = Counter()
        """Of parameters and of what calls combine, each in all."""
        self._terms: dict[torch.Tensor, torch.Tensor] = {}
        self._gradient_site: Sequence[Any] = ("", 0)
        self._inputs = FirstInputs(file)
        self._held = Names(file, lambda: self._step + 1, calls) if detailed and moves is None else None
        self._narrow = None if self._held is None else Narrow()
        self._seedings = Seedings(file)
        self._wrapped: set[torch.nn.Module] = set()
        """What DistributedDataParallel wraps, with all modules inside."""
        self._wrappers = 0
        """How many of the forward passes that run are those of a DistributedDataParallel."""

    def begin(self) -> None:
        """Registers the hooks."""
        register_module_forward_pre_hook(self._before_forward)  # type: ignore[arg-type]  # torch's type lacks results
        register_optimizer_step_pre_hook(self._before_step)
        register_optimizer_step_post_hook(self._after_step)
        if self._reseeding is not None:
            self._reseeding.begin()
        if self._held is not None or self._reseeding is not None:
            register_module_module_registration_hook(self._registered)
        if self._held is not None:
            register_module_forward_hook(self._after_forward, always_call=True)
            self._held.begin()
            self._seedings.begin()
        if self._narrow is not None:
            self._narrow.begin()

    def end(self) -> None:
        """Writes the parameters as they are in the end, and what names held."""
        if self._held is not None:
            self._held.end()
            self._seedings.end()
        if self._narrow is not None:
            append(self._file, "narrow", {"dtypes": sorted(self._narrow.found)}, [])
        if self._last:
            self._write("end", {}, dict.fromkeys(self._trained([*self._last])), whole=True)

    def called(
        self, op: str, site: Sequence[Any], tensors: Sequence[torch.Tensor], finish: Callable[[Any], None]
    ) -> Callable[[Any], None]:
        """Returns what finishes a call that combines tensors, [...] each, in place, and then writes both."""
        self._calls += 1
        if self._held is not None:
            name = f"all_reduce {op}"
            self._held.called(name, name, sys._getframe(1), [one.data_ptr() for one in tensors])
        facts = {
            "number": self._calls,
            "step": self._step + (not self._running or self._beginning.is_waited_for),
            "op": _COMBINED.get(op),
            "site": list(site),
        }
        if not self._detailed or facts["op"] is None or self._is_full("calls", sum(one.nbytes for one in tensors)):
            return finish
        before = [part_of(one).array.copy() for one in tensors]

        def finished(answer: Any) -> None:
            finish(answer)
            append(self._file, "call", facts, [*before, *(part_of(one).array for one in tensors)])

        return finished

    def written(self, tensors: Sequence[torch.Tensor]) -> None:
        """Notes that a call changes tensors, [...] each, in place."""
        if self._held is not None and tensors:
            self._held.written(sys._getframe(1), [one.data_ptr() for one in tensors])

    def sent(self, tensors: Sequence[torch.Tensor]) -> None:
        """Notes a broadcast of tensors, [...] each, which has one rank's values on all of them."""
        if self._held is not None:
            self._held.called(_BROADCAST, _BROADCAST, sys._getframe(1), [one.data_ptr() for one in tensors])

    def given(self, kind: str, tensors: Sequence[torch.Tensor]) -> None:
        """Notes a collective whose tensors, [...] each, were computed for a backward pass: it passes no gradient on.

        Collectives of torch.distributed.nn.functional run where gradients are off, and parameters are not computed.
        """
        is_computed = torch.is_grad_enabled() and any(one.grad_fn is not None for one in tensors)
        if self._held is not None and is_computed:
            self._held.called(_STOPPED, kind, sys._getframe(1))

    def _is_full(self, kind: str, size: int) -> bool:
        """Returns whether arrays of this size in bytes are too large together with those before of their kind."""
        self._bytes[kind] += size
        return self._bytes[kind] > _WHOLE_BYTES

    def _registered(self, module: torch.nn.Module, name: str, child: torch.nn.Module | None) -> None:
        if isinstance(module, DistributedDataParallel) and name == "module" and child is not None:
            self._wrapped |= set(child.modules())
            if self._reseeding is not None:
                self._reseeding.move()

    def _after_forward(self, module: torch.nn.Module, _inputs: Any, _outputs: Any) -> None:
        self._wrappers -= isinstance(module, DistributedDataParallel)

    def _before_forward(self, module: torch.nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...] | None:
        self._keras.look()
        self._wrappers += isinstance(module, DistributedDataParallel)
        if self._held is not None and not self._wrappers and module in self._wrapped and torch.is_grad_enabled():
            self._held.called(_BYPASSED, type(module).__name__, sys._getframe(1))
        if self._reseeding is not None:
            self._reseeding.move()
            self._reseeding = None
        if module not in self._modules:
            self._enter(module)
        if not self._modules.get(module, True):
            return None
        named = named_in(sys._getframe(1))
        if not self._step and torch.is_grad_enabled():
            self._inputs.given([*leaves_in((inputs, named))], is_counted=module in self._modules)
        return None if self._moves is None else self._moves.inputs(module, inputs, named)

    def _enter(self, module: torch.nn.Module) -> None:
        """Names the parameters of a module that the script calls for the first time."""
        named = list(named_parameters(module))
        # Such as those that functional_call puts there, which may be computed from the script's own.
        if any(is_lazy(one) or not is_readable(one) or not one.is_leaf for _, one in named):
            return
        self._modules |= dict.fromkeys(module.modules(), False) | {module: True}
        for name, parameter in named:
            self._name(parameter, name)

    def _name(self, parameter: torch.Tensor, name: str) -> None:
        if parameter in self._names:
            return
        self._taken[name] += 1
        self._names[parameter] = name if self._taken[name] == 1 else f"{name} ({self._taken[name]})"
        if self._moves is not None:
            self._moves.parameter(parameter)
        if not parameter.requires_grad:
            self._statistics[parameter] = parameter._version  # noqa: SLF001 - torch documents it, and has no other name
        if self._detailed and parameter.requires_grad and parameter.is_leaf:
            parameter.register_post_accumulate_grad_hook(self._accumulated)  # type: ignore[no-untyped-call]  # torch's

    def _accumulated(self, parameter: torch.Tensor) -> None:
        """Keeps the gradient that this rank has computed, before anything combines it."""
        if parameter.grad is not None:
            self._terms[parameter] = parameter.grad.detach().clone()
            self._gradient_site = site_of(sys._getframe(1))

    def _before_step(self, optimizer: Optimizer | KerasOptimizer, given: Any, named: Any) -> Given | None:
        if self._running and self._running[0] is not optimizer:  # an optimizer that steps inside of another one
            self._running.append(optimizer)
            return None
        self._running = [optimizer]
        kept: dict[torch.Tensor, Part] = {}
        followed = self._beginning.after_closure(given, named, lambda: self._begin_step(optimizer, kept))
        if followed is None:
            self._begin_step(optimizer, kept)
        else:
            kept |= {one: copy_of(one) for one in parameters_of(optimizer) if not is_lazy(one)}
        return followed

    def _begin_step(self, optimizer: Optimizer | KerasOptimizer, kept: Mapping[torch.Tensor, Part]) -> None:
        """Writes what a step begins with.  kept: parameters as they were before what has run in it since."""
        parameters = parameters_of(optimizer)
        first = len(self._optimizers) if optimizer not in self._optimizers else 0
        for number, parameter in enumerate(parameters):
            self._name(parameter, f"optimizer {first + 1}, parameter {number}" if first else f"parameter {number}")
        parameters = self._trained(parameters)
        if self._moves is not None:
            self._moves.gradients([(self._names[one], one.grad) for one in parameters if one.grad is not None])
        if not self._step:
            self._inputs.write()
            if self._held is not None:
                self._seedings.stepping()
        self._step += 1
        self._made_before = self._made()
        facts = {
            "step": self._step,
            "site": list(site_of(sys._getframe(1))),
            "generators": {one.label: one.state() for one in GLOBAL.values()},
            "calls": self._made_before,
        }
        self._optimizers[optimizer] = None
        self._write("step", facts, {one: kept.get(one) for one in parameters})
        self._last |= dict.fromkeys(parameters, self._step)
        self._terms.clear()

    def _trained(self, parameters: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Returns the parameters, [...] each, without those that have no gradient and that the script itself writes."""
        for one in parameters:
            if not one.requires_grad and self._statistics.get(one, one._version) != one._version:  # noqa: SLF001 - as above
                self._statistics[one] = None
        return [one for one in parameters if self._statistics.get(one, 0) is not None]

    def _after_step(self, optimizer: Optimizer | KerasOptimizer, _given: Any, _named: Any) -> None:
        if self._running:
            self._running.pop()
        if not self._running:
            self._beginning.now()
        if self._detailed and not self._running:
            parameters = self._trained(parameters_of(optimizer))
            fits = self._bytes["parameters"] <= _WHOLE_BYTES
            if fits and self._beginning.calls < 2 and self._made() > self._made_before:
                # A step that makes calls itself, such as those that combine its gradients.
                facts: dict[str, Any] = {"step": self._step}
                append(self._file, "combined", facts, gradients_of(parameters, {}, facts))
            self._written.keep(parameters, fits=fits)

    def _write(
        self, what: str, facts: dict[str, Any], kept: Mapping[torch.Tensor, Part | None], *, whole: bool = False
    ) -> None:
        """Writes parameters' values, after which step each has them, and where it is detailed, their gradients.

        kept: the values to write, by parameter; None for those that it has now.
        """
        parameters = [*kept]
        facts |= {"names": [self._names[one] for one in parameters], "forms": [], "gradients": [], "terms": []}
        facts["after"] = [self._last.get(one, 0) for one in parameters]
        facts["joined"] = self.joining.counts
        arrays = []
        # Of the whole of one of which ranks have parts.
        size = sum(one.numel() * one.element_size() for one in parameters)
        if whole or not self._is_full("parameters", size):
            for one in parameters:
                part = kept[one] or part_of(one)
                facts["forms"].append(part.form)
                arrays.append(part.array)
            facts["made"], made = self._written.since(parameters, arrays)
            if self._detailed and what == "step":
                facts["gradient_site"] = list(self._gradient_site)
                arrays += gradients_of(parameters, self._terms, facts)
            arrays += made
        append(self._file, what, facts, arrays)
