"""Finds in which narrow dtypes a program computes, from the graphs that it traces and from Keras's policy.

What runs eagerly and in no layer of a returned model is not seen.
"""

from collections.abc import Collection, Sequence
from typing import Any, final

import keras  # type: ignore[import-untyped]
import tensorflow as tf

from simstrategy.device.narrow import NARROW, coarsest
from simstrategy_tf_distribute.layers import coarsest_dtype

__all__ = ["Graphs", "narrow_of"]


@final
class Graphs:
    """The dtypes of the operations in graphs that are being traced; `look` looks at those that are new."""

    def __init__(self) -> None:
        self.found: set[str] = set()
        """Names of `device.narrow.NARROW`."""
        self._graph: Any = None
        self._seen = 0

    def look(self) -> None:
        """Notes what the operations give that the present graph has so far; eagerly there is none."""
        if tf.executing_eagerly():
            return
        graph = tf.compat.v1.get_default_graph()
        if graph is not self._graph:
            self._graph, self._seen = graph, 0
        operations = graph.get_operations()
        names = {result.dtype.name for one in operations[self._seen :] for result in one.outputs}
        self._seen = len(operations)
        self.found |= names.intersection(NARROW)


def narrow_of(found: Collection[str], models: Sequence[Any]) -> str | None:
    """Returns the coarsest narrow dtype of a run that has ended; None for none.

    found: in its graphs. models: of Keras, in its result.
    """
    policy = str(keras.config.dtype_policy().compute_dtype)
    return coarsest({*found, policy, coarsest_dtype(models) or policy})
