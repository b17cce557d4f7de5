"""What a difference has to do with Keras: layers that see a replica's part alone, and the precision of layers."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import keras  # type: ignore[import-untyped]

__all__ = ["coarsest_ulp", "layers_on_their_own"]

_ULPS: Final = {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-23, "float64": 2.0**-52}


def layers_on_their_own(models: Sequence[Any]) -> Iterator[str]:
    """Yields a text for each layer whose result on a replica depends on the other examples of the replica."""
    for layer in _flat(models):
        if isinstance(layer, keras.layers.BatchNormalization) and layer.trainable and not layer.synchronized:
            yield (
                f"{layer.name} (BatchNormalization) normalises each replica's part by its own statistics; use "
                f"synchronized=True for the statistics of the whole batch"
            )
        elif not getattr(layer, "layers", ()) and any("seed_generator_state" in one.path for one in layer.variables):
            yield f"{layer.name} ({type(layer).__name__}) draws random numbers for each replica's part separately"


def coarsest_ulp(models: Sequence[Any]) -> float:
    """Returns one ulp of 1 in the least precise float in which a layer computes; 0 without a model."""
    return max([_ULPS.get(str(layer.compute_dtype), 0.0) for layer in _flat(models)], default=0.0)


def _flat(layers: Sequence[Any]) -> Iterator[Any]:
    for layer in layers:
        yield layer
        yield from _flat(getattr(layer, "layers", ()))
