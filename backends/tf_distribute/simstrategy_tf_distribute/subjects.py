"""What a reduction is of: a gradient by the position of its variable, else a variable, else a number."""

from collections.abc import Sequence
from typing import Any, final

import tensorflow as tf

from simstrategy.launch.calls import Form
from simstrategy_tf_distribute.forms import form_of
from simstrategy_tf_distribute.variables import Variables, name_of

__all__ = ["Subjects"]


@final
class Subjects:
    """Names what is reduced.  variables: those of the run; None where gradients are named by `name_gradients` alone."""

    def __init__(self, variables: Variables | None) -> None:
        self._variables = variables
        self._names: tuple[str, ...] = ()
        self._forms: tuple[Form, ...] = ()

    def name_gradients(self, variables: Sequence[Any]) -> None:
        """Sets the variables whose gradients a step reduces, all at once and in this order."""
        self._names = tuple([f"gradient of {getattr(one, 'path', name_of(one))}" for one in variables])
        self._forms = tuple([(tuple(one.shape), tf.as_dtype(one.dtype).name) for one in variables])

    def of(self, values: Sequence[Any], destinations: Sequence[Any]) -> list[str | None]:
        """Returns a name for each value of one reduction; None for a single one that is no variable's."""
        forms = tuple([form_of(_first(value)) for value in values])
        if self._variables is not None and forms != (((), forms[0][1]),):
            self.name_gradients(self._variables.trained())
        if self._names and forms == self._forms:
            return list(self._names)
        names = [name_of(one) if isinstance(one, tf.Variable) else None for one in destinations]
        count = len(values)
        return [name or (f"value {number} of {count}" if count > 1 else None) for number, name in enumerate(names, 1)]


def _first(value: Any) -> Any:
    return value.values[0] if isinstance(value, tf.distribute.DistributedValues) else value
