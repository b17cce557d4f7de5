"""Calls layers with statistics, or draws, as in a prediction, in a rank: layers of torch, and of Keras on torch.

Functions of torch that draw give a constant where layers that draw predict.
Torch's hooks are called around each of its modules, and not around the layers inside of a Keras model.
"""

import sys
from contextlib import ExitStack
from functools import partial
from typing import Any, Final, final

from torch import nn
from torch.nn.modules.dropout import _DropoutNd
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

from simstrategy.launch.predicting import without_training
from simstrategy_torch_distributed.watched.constant_draws import ConstantDraws
from simstrategy_torch_distributed.watched.entries import append

__all__ = ["Predicting"]

_TORCH: Final[dict[str, tuple[type[nn.Module], ...]]] = {
    "statistics": (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d),
    "draws": (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout),
}
_KERAS: Final = {
    "statistics": ("BatchNormalization",),
    "draws": (
        *("Dropout", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D"),
        *("GaussianDropout", "GaussianNoise", "AlphaDropout"),
    ),
}
_ELSEWHERE: Final = "elsewhere"
_NORMALISES: Final = "{name} normalises each replica's part by its own statistics"
_SYNCHRONISED: Final = "; use torch.nn.SyncBatchNorm for the statistics of the whole batch"
_DRAWS: Final = "{name} draws random numbers for each replica's part separately"
_DRAWS_THERE: Final = "{name} draws random numbers in each replica"


_DOES: Final = {"statistics": "normalises", "draws": "draws"}


@final
class Predicting:
    """What a rank does.

    kinds: of layers, "statistics", "draws" or both; "elsewhere" besides for another constant than the mean in place of
    what is drawn. file: receives an entry for each layer or function.
    """

    def __init__(self, file: str, kinds: tuple[str, ...]) -> None:
        self._file, self._kinds = file, tuple([kind for kind in kinds if kind != _ELSEWHERE])
        self._is_elsewhere = _ELSEWHERE in kinds
        self._stopped: list[nn.Module] = []
        """The modules that predict now, though they train."""
        self._depth = 0
        """How many forward passes run, one inside of another."""
        self._noted: set[str] = set()
        self._patched: ExitStack | None = None

    def begin(self) -> None:
        register_module_forward_pre_hook(self.before)
        register_module_forward_hook(self.after, always_call=True)
        if "draws" in self._kinds:
            drawn = ConstantDraws(self._note_function, lambda: self._depth > 0, is_elsewhere=self._is_elsewhere)
            drawn.begin()

    def before(self, module: nn.Module, _inputs: Any) -> None:
        self._depth += 1
        if self._patched is None and "keras" in sys.modules:
            self._patched = ExitStack()
            for kind in self._kinds:
                found = [getattr(sys.modules["keras"].layers, name) for name in _KERAS[kind]]
                self._patched.enter_context(without_training(found, partial(self._note_keras, kind)))
        for kind in self._kinds:
            is_own = type(module).forward.__module__.startswith("torch.")
            if module.training and is_own and isinstance(module, _TORCH[kind]):
                module.training = False  # its forward reads it; `eval` would change modules inside of it
                self._stopped.append(module)
                share = module.p if isinstance(module, _DropoutNd) else None
                self._note(kind, type(module).__name__, _SYNCHRONISED, share)

    def after(self, module: nn.Module, _inputs: Any, _outputs: Any) -> None:
        self._depth -= 1
        if any(module is one for one in self._stopped):
            module.training = True
            self._stopped = [one for one in self._stopped if one is not module]

    def _note_function(self, name: str, share: float | None, *, is_constant: bool) -> None:
        self._append(name, "draws", _DRAWS_THERE.format(name=name), share, is_constant=is_constant)

    def _note_keras(self, kind: str, layer: Any) -> None:
        self._note(kind, f"{layer.name} ({type(layer).__name__})", "")

    def _note(self, kind: str, name: str, instead: str, share: float | None = None) -> None:
        text = (_NORMALISES.format(name=name) + instead) if kind == "statistics" else _DRAWS.format(name=name)
        self._append(name, _DOES[kind], text, share)

    def _append(self, name: str, does: str, text: str, share: float | None, *, is_constant: bool = False) -> None:
        """Writes a layer or function once, as a `Predicted`, with the share that it has in its first call."""
        if text not in self._noted:
            self._noted.add(text)
            facts = {"name": name, "does": does, "text": text, "share": share, "is_constant": is_constant}
            append(self._file, "predicted", facts, [])
