"""What a rank draws at random, as it is sent to the law of random draws when the script has ended.

Functions of torch that draw are seen by a mode, with their line and a digest of the generator's state before. Of
`random` and NumPy's global generator the states are looked at in each optimizer step. Generator objects of NumPy are
not followed.
"""

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, final

import torch
from torch.nn import functional
from torch.optim.optimizer import Optimizer, register_optimizer_step_pre_hook
from torch.overrides import TorchFunctionMode
from torch.utils.data import DistributedSampler
from xxhash import xxh3_64_hexdigest

from simstrategy_torch_distributed.generators import GLOBAL
from simstrategy_torch_distributed.hooks.beginnings import Beginnings
from simstrategy_torch_distributed.hooks.seeds import Seeds
from simstrategy_torch_distributed.link import site_of

__all__ = ["Draws"]

_MASKS: Final[dict[Any, str]] = {
    vars(functional)[name]: name
    for name in (
        *("alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout", "gumbel_softmax"),
        *("multi_head_attention_forward", "rrelu", "scaled_dot_product_attention"),
    )
}
"""Functions that draw noise for the samples of a rank, in training."""
_BEGINNING: Final[dict[Any, str]] = {
    vars(torch.nn.init)[name]: name
    for name in (
        *("kaiming_normal_", "kaiming_uniform_", "normal_", "orthogonal_", "sparse_", "trunc_normal_", "uniform_"),
        *("xavier_normal_", "xavier_uniform_"),
    )
}
"""Functions that draw the first values of parameters; a mode does not see what they call."""
_FUNCTIONS: Final = (
    *("bernoulli", "multinomial", "normal", "poisson", "rand", "rand_like", "randint", "randint_like", "randn"),
    *("randn_like", "randperm"),
)
_METHODS: Final[dict[Any, str]] = {
    torch.Tensor.bernoulli_: "bernoulli_",
    torch.Tensor.exponential_: "exponential_",
    torch.Tensor.log_normal_: "log_normal_",
    torch.Tensor.normal_: "normal_",
    torch.Tensor.random_: "random_",
    torch.Tensor.uniform_: "uniform_",
}
_DRAWING: Final[dict[Any, str]] = _MASKS | _BEGINNING | _METHODS | {vars(torch)[name]: name for name in _FUNCTIONS}
_REDUCTIONS: Final = frozenset({"all_reduce", "reduce", "reduce_scatter", "all_gather"})
_KEPT: Final = 256
"""So many draws at one line are compared, and so many steps; the first ones."""
_LINES_MAX: Final = 1000


@final
@dataclass(slots=True)
class _Line:
    """The draws of one function at one line.  kind: "noise", "first values" or "". seed: words on the last seed.

    before: digests of the generator. in_training: how many were made after the first step or reduction.
    """

    kind: str
    seed: str
    before: list[str] = field(default_factory=list)
    in_training: int = 0


@final
class Draws:
    """Watches one rank.  send: takes a message for the law. output: begins the name of a file for workers."""

    def __init__(self, send: Callable[[list[Any]], None], output: Path) -> None:
        self._send = send
        self._seeds = Seeds(output)
        self._beginnings = Beginnings(send)
        self._lines: dict[tuple[str, str, int], _Line] = {}
        self._passes: Counter[tuple[str, int]] = Counter()
        self._begin = _states()
        self._states: list[list[int]] = []
        """Of Python's and NumPy's generators, before each step."""
        self._is_training = False
        register_optimizer_step_pre_hook(self._stepping)
        _Drawing(self._called).__enter__()  # type: ignore[no-untyped-call]  # for the rest of the process

    def requested(
        self,
        kind: str,
        _group: str,
        ranks: Sequence[int],
        tensors: Sequence[torch.Tensor],
        written: Sequence[torch.Tensor],
    ) -> None:
        """Notes a call that the script makes.  tensors: [...] each, what it compares; written: what it writes."""
        self._is_training |= kind in _REDUCTIONS
        self._beginnings.requested(kind, ranks, tensors, written)

    def end(self) -> None:
        """Sends what was drawn, and what parameters are in the end."""
        self._beginnings.end()
        lines = [
            [name, (file, number), one.before, one.in_training, one.seed, one.kind]
            for (name, file, number), one in self._lines.items()
        ]
        states = {"begin": self._begin, "steps": self._states, "seeds": self._seeds.words()}
        self._send(["random", {"what": "draws", "lines": lines, "states": states}])
        self._send(["random", {"what": "workers", "seeds": self._seeds.of_workers()}])

    def _stepping(self, _optimizer: Optimizer, _args: Any, _options: Any) -> None:
        self._is_training = True
        if len(self._states) < _KEPT:
            self._states.append(_states())

    def _called(self, name: str, func: Callable[[], Any], generator: torch.Generator | None) -> Any:
        """Calls a function of torch that draws, and notes the state before where it has drawn."""
        frame = sys._getframe(2)
        before = _digest(generator)
        made = func()
        if _digest(generator) == before:
            return made  # such as dropout in evaluation
        while frame.f_back is not None and frame.f_globals.get("__name__") in ("torch.overrides", __name__):
            frame = frame.f_back
        site = site_of(frame)
        if frame.f_code is DistributedSampler.__iter__.__code__:
            self._shared(frame.f_locals["self"], site, generator)
        elif not (module := str(frame.f_globals.get("__name__"))).startswith("torch.utils.data"):
            kind = "noise" if name in _MASKS.values() else ""
            if name in _BEGINNING.values() and module.startswith("torch.nn."):
                kind = "first values"
            self._note(name, kind, site, before, generator)
        return made

    def _note(
        self, name: str, kind: str, site: tuple[str, int], before: str, generator: torch.Generator | None
    ) -> None:
        key = (name, *site)
        if key not in self._lines:
            if len(self._lines) == _LINES_MAX or not site[0]:
                return
            words = self._seeds.last("torch") if generator is None else f"seeded with {generator.initial_seed()}"
            self._lines[key] = _Line(kind, words)
        line = self._lines[key]
        line.in_training += self._is_training
        if len(line.before) < _KEPT:
            line.before.append(before)

    def _shared(self, sampler: "DistributedSampler[Any]", site: tuple[str, int], generator: Any) -> None:
        """Sends from which order a DistributedSampler cuts its share in a pass."""
        number = self._passes[site]
        self._passes[site] += 1
        if number < _KEPT:
            share = [sampler.rank, sampler.num_replicas]
            order = generator.initial_seed() if isinstance(generator, torch.Generator) else None
            facts = {"site": site, "pass": number, "share": share, "order": order, "epoch": sampler.epoch}
            self._send(["random", {"what": "share", **facts, "seed": sampler.seed}])


@final
class _Drawing(TorchFunctionMode):
    """Gives functions of torch that draw to another one, with the generator that they are given."""

    def __init__(self, called: Callable[[str, Callable[[], Any], torch.Generator | None], Any]) -> None:
        TorchFunctionMode.__init__(self)
        self._called = called

    def __torch_function__(
        self, func: Any, _types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Calls a function of torch."""
        given = kwargs or {}
        name = _DRAWING.get(func)
        if name is None:
            return func(*args, **given)
        return self._called(name, lambda: func(*args, **given), given.get("generator"))


def _digest(generator: torch.Generator | None) -> str:
    """Returns a digest of the state of a generator; None is torch's global one."""
    state: Any = torch.get_rng_state() if generator is None else generator.get_state()
    return xxh3_64_hexdigest(state.numpy())


def _states() -> list[int]:
    """Returns digests of Python's and NumPy's global generators."""
    return [GLOBAL[name].state() for name in ("random", "numpy.random")]
