"""Compares compiled steps with what they request on the simulator: `simstrategy compile-check`.

It uses the core's strategies, as programs do. The backend beside it imports nothing of it.
"""

from simstrategy_xla.compile_check.checking import CompiledReport, StepReport, check_compiled

__all__ = ["CompiledReport", "StepReport", "check_compiled"]
