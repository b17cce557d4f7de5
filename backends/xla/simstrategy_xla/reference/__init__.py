"""Compiled steps run by the reference interpreter of StableHLO, to compare with XLA's own compiler.

`module.py` makes the interpreter's module of a step, `evaluator.py` is the process that evaluates modules,
`interpreter.py` talks to it, and `compilation.py` is what a backend offers.
"""

from simstrategy_xla.reference.compilation import InterpretedCompilation

__all__ = ["InterpretedCompilation"]
