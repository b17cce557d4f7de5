"""Compiled steps of the simulator: a step runs once, on arrays with all replicas along their first axis.

`tape.py` records what a step does to arrays without values; `rules.py` and `sums.py` state how each call is computed
for all replicas at once, `program.py` runs a tape. It is no compiler: the calls are NumPy's, in the step's order.
"""

from simstrategy.sim.stacked.compilation import StackedCompilation

__all__ = ["StackedCompilation"]
