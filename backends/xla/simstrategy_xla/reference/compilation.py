"""Compiled steps whose programs StableHLO's reference interpreter runs, in place of XLA."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, final

import jax
import numpy as np

from simstrategy.device import Cell, Compilation
from simstrategy.values import Parts
from simstrategy_xla.compilation import Form, JaxBody, JaxProgram, XlaCompilation
from simstrategy_xla.namespace import committed
from simstrategy_xla.reference.interpreter import Interpreter
from simstrategy_xla.reference.module import Tensor, Text, interpreted

__all__ = ["InterpretedCompilation"]

Arrays = tuple[jax.Array, ...]
Cells = tuple[Cell[jax.Array], ...]


@final
class InterpretedCompilation:
    """See `simstrategy.device.Compilation`.  inner: lowers the steps. devices: of the ranks, all different."""

    __slots__ = ("_devices", "_inner", "_interpreter")
    examined = None

    def __init__(self, inner: XlaCompilation, devices: Sequence[jax.Device]) -> None:
        self._inner = inner
        self._devices = tuple(devices)
        self._interpreter = Interpreter()

    def trace(self, body: JaxBody, forms: Sequence[Form]) -> None:
        """Traces as for XLA."""
        self._inner.trace(body, forms)

    def compile(self, body: JaxBody, forms: Sequence[Form]) -> JaxProgram:
        """Returns a program that the interpreter runs.  Raises CannotCompile, and Unsupported as `interpreted`."""
        lowered = self._inner.lowered(body, forms)
        outputs, scalars = lowered.out_info
        text = interpreted(lowered.compiler_ir("stablehlo"), len(self._devices))
        shapes = [() if number in scalars else None for number in range(len(outputs))]
        return _Program(self._interpreter, text, self._devices, shapes)

    def close(self) -> None:
        """Ends the interpreter's process."""
        self._interpreter.close()


@final
class _Program:
    """One step.  scalars: for each output () where it has no axis in the step, or None."""

    __slots__ = ("_devices", "_interpreter", "_number", "_scalars", "_text")

    def __init__(
        self, interpreter: Interpreter, text: Text, devices: Sequence[jax.Device], scalars: Sequence[tuple[()] | None]
    ) -> None:
        self._interpreter = interpreter
        self._text = text
        self._devices = devices
        self._scalars = scalars
        self._number = interpreter.number()

    def __call__(
        self, inputs: Sequence[Arrays | Parts], read: Sequence[Cells], written: Sequence[Cells]
    ) -> list[Arrays]:
        """See `simstrategy.device.Program`."""
        given = [one if isinstance(one, tuple) else one.arrays for one in inputs]
        given += [tuple([cell.read() for cell in cells]) for cells in read]
        rows = [
            _given(given[place][rank], tensor)
            for rank in range(len(self._devices))
            for place, tensor in zip(self._text.taken, self._text.inputs, strict=True)
        ]
        found = self._interpreter.evaluate(self._number, self._text, rows)
        each = len(self._text.outputs)
        outputs = [
            tuple([self._placed(found[rank * each + number], number, rank) for rank in range(len(self._devices))])
            for number in range(len(self._scalars))
        ]
        for cells, arrays in zip(written, outputs, strict=False):
            for cell, array in zip(cells, arrays, strict=True):
                cell.write(array)
        return outputs[len(written) :]

    def _placed(self, array: np.ndarray[Any, Any], number: int, rank: int) -> jax.Array:
        """Returns an output [shape] on its rank's device."""
        tensor = self._text.outputs[number]
        if tensor.element == "i1":
            array = array.astype(np.bool_)
        elif tensor.element == "bf16":
            array = array.view(jax.numpy.bfloat16)
        shape = tensor.shape if self._scalars[number] is None else ()
        placed: jax.Array = jax.device_put(array.reshape(shape), self._devices[rank])
        return placed


def _given(array: jax.Array, tensor: Tensor) -> np.ndarray[Any, Any]:
    """Returns an input as the interpreter takes it, [the tensor's shape]."""
    host = np.asarray(committed(array)).reshape(tensor.shape)
    if tensor.element == "i1":
        return host.astype(np.uint8)
    return host.view(np.uint16) if tensor.element == "bf16" else host


if TYPE_CHECKING:
    _: type[Compilation[jax.Array]] = InterpretedCompilation
