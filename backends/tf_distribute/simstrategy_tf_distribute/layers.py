"""What a difference has to do with Keras: layers that see a replica's part alone, and the precision of layers."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import keras  # type: ignore[import-untyped]

from simstrategy.check.distances import one_unit

__all__ = ["OwnPart", "at_most", "coarsest_dtype", "layers_on_their_own"]

_FLOATS: Final = ("bfloat16", "float16", "float32", "float64")


class OwnPart(NamedTuple):
    """A layer whose result on a replica depends on the other examples of the replica.

    layer: its class. name: its name, and that of its class. does: what it does, as a clause. instead: advice, or "".
    has_statistics: whether it computes statistics; otherwise it draws random numbers.
    """

    layer: type
    name: str
    does: str
    instead: str
    has_statistics: bool

    @property
    def is_keras(self) -> bool:
        """Whether Keras computes it: then nothing else depends on whether it trains."""
        return str(self.layer.call.__module__).startswith("keras.")  # type: ignore[attr-defined]

    @property
    def text(self) -> str:
        return f"{self.name} {self.does}" + (f"; {self.instead}" if self.instead else "")


def layers_on_their_own(models: Sequence[Any]) -> Iterator[OwnPart]:
    """Yields the layers that see a replica's part alone, each once.  models: also layers of them."""
    for layer in {id(one): one for one in _flat(models)}.values():
        kind, name = type(layer), f"{layer.name} ({type(layer).__name__})"
        if isinstance(layer, keras.layers.BatchNormalization) and layer.trainable and not layer.synchronized:
            does = "normalises each replica's part by its own statistics"
            yield OwnPart(kind, name, does, "use synchronized=True for the statistics of the whole batch", True)
        elif not getattr(layer, "layers", ()) and any("seed_generator_state" in one.path for one in layer.variables):
            yield OwnPart(kind, name, "draws random numbers for each replica's part separately", "", False)


def coarsest_dtype(models: Sequence[Any]) -> str | None:
    """Returns the least precise dtype of floats in which a layer computes; None without one."""
    used = [dtype for layer in _flat(models) if (dtype := str(layer.compute_dtype)) in _FLOATS]
    return max(used, key=one_unit, default=None)


def at_most(coarsest: str | None, dtype: str) -> str:
    """Returns the less precise of two dtypes; the second one where it has no floats, or the first is None.

    >>> at_most("float16", "float32"), at_most("float16", "int64"), at_most(None, "float32")
    ('float16', 'int64', 'float32')
    """
    return dtype if coarsest is None or dtype not in _FLOATS else max(coarsest, dtype, key=one_unit)


def _flat(layers: Sequence[Any]) -> Iterator[Any]:
    for layer in layers:
        yield layer
        yield from _flat(getattr(layer, "layers", ()))
