"""The process that evaluates modules: the interpreter ends it where it does not have an operation.

    python -m simstrategy_xla.reference.evaluator

Reads requests from its input, pickled, and writes an answer to each. The first request for a module has its text. What
libraries print goes to the error output, of which the process that started this one shows the end.
"""

import math
import os
import pickle
import sys
from typing import Any, BinaryIO

import numpy as np
from jax.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from simstrategy_xla.reference.module import Tensor

__all__ = ["main"]

Host = np.ndarray[Any, Any]


def main(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answers requests until there are no more.  A request: the number of a module, its text or None, and arrays."""
    context = mlir.make_ir_context()
    stablehlo.register_interpreter_dialect(context)
    modules: dict[int, Any] = {}
    while True:
        try:
            number, text, tensors, arrays = pickle.load(requests)  # noqa: S301 - of the process that started this one
        except EOFError:
            return
        with context:
            if text is not None:
                modules[number] = ir.Module.parse(text)
            given = [_attribute(array, tensor) for array, tensor in zip(arrays, tensors, strict=True)]
            found = list(map(_array, stablehlo.eval_module(modules[number], given)))
        pickle.dump(found, answers, protocol=pickle.HIGHEST_PROTOCOL)
        answers.flush()


def _attribute(array: Host, tensor: Tensor) -> Any:
    """Returns an array [the tensor's shape] as an attribute."""
    data: Any = np.ascontiguousarray(array)
    return ir.DenseElementsAttr.get(data, type=ir.Type.parse(tensor.element), shape=list(tensor.shape))


def _array(attribute: Any) -> Host:
    """Returns an attribute as an array; it may have a single number where all are equal."""
    dense = ir.DenseElementsAttr(attribute)
    shape = tuple(ir.RankedTensorType(dense.type).shape)
    array = np.array(dense)
    return array.reshape(shape) if array.size == math.prod(shape) else np.full(shape, array.reshape(-1)[0])


if __name__ == "__main__":
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # answers alone go to the output
    main(sys.stdin.buffer, output)
