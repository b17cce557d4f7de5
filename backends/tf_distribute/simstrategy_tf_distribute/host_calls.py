"""Calls of the host out of traced functions: in order among themselves, and apart from the program's own operations.

TensorFlow runs the stateful operations of a function one after another, in the order in which they were made. A call
that took part in this would bind a later operation of the program to its own inputs: a first value that an operation
of the host gives could no longer be moved out of the function that makes the variable, as TensorFlow 2.21.0 does.
Operations with a resource have the order of that resource alone, also in the loops and branches of a function.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, final

import tensorflow as tf

__all__ = ["HostCalls"]

_NAME: Final = "simstrategy_host_calls"


@final
class HostCalls:
    """The calls of one observer."""

    def __init__(self) -> None:
        self._order: Any = None
        """The handle of a variable that is never given a value.  It is made late: TensorFlow's server comes first."""

    def add(self, function: Callable[..., Any], tensors: Sequence[Any], dtypes: Any) -> Any:
        """Adds a call to the graph that is being traced, and returns its results.

        function: receives the values of tensors [any shape] as arrays, in each run of the graph. dtypes: of what it
        returns, as of `tf.numpy_function`.
        """

        def called(_: Any, *values: Any) -> Any:
            return function(*values)

        if self._order is None:
            with tf.init_scope(), tf.device("CPU:0"):
                self._order = tf.raw_ops.VarHandleOp(dtype=tf.int32, shape=[], shared_name=_NAME)
        return tf.numpy_function(called, [self._order, *tensors], dtypes)
