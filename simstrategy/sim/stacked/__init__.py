"""Compiled steps of the simulator: a step runs once, on arrays with all replicas along their first axis.

`tape.py` records what a step does to arrays without values; `rules.py` and `sums.py` state how each call is computed
for all replicas at once, `program.py` runs a tape. It is no compiler: the calls are NumPy's, in the step's order.
The name is imported on its first use: few simulators compile (decision 0035).
"""

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from simstrategy.late_names import on_first_use

if TYPE_CHECKING:
    from simstrategy.sim.stacked.compilation import StackedCompilation

__all__ = ["StackedCompilation"]

_WHERE: Final = MappingProxyType({"StackedCompilation": "simstrategy.sim.stacked.compilation:StackedCompilation"})


__getattr__, __dir__ = on_first_use(globals(), _WHERE)
