"""The deterministic simulator: devices, collectives, clusters in one process, and virtual time.

The names are imported on their first use: a program on one worker needs neither a cluster nor times (decision 0035).
"""

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from simstrategy.late_names import on_first_use

if TYPE_CHECKING:
    from simstrategy.sim.backend import SimBackend, open_sim
    from simstrategy.sim.cluster import Cluster
    from simstrategy.sim.collectives import ORDERS
    from simstrategy.sim.cost import Cost
    from simstrategy.sim.virtual_time import PointTimes, Span, Timeline, timeline

__all__ = ["ORDERS", "Cluster", "Cost", "PointTimes", "SimBackend", "Span", "Timeline", "open_sim", "timeline"]

_WHERE: Final = MappingProxyType(
    {
        "Cluster": "simstrategy.sim.cluster:Cluster",
        "Cost": "simstrategy.sim.cost:Cost",
        "ORDERS": "simstrategy.sim.collectives:ORDERS",
        "PointTimes": "simstrategy.sim.virtual_time:PointTimes",
        "SimBackend": "simstrategy.sim.backend:SimBackend",
        "Span": "simstrategy.sim.virtual_time:Span",
        "Timeline": "simstrategy.sim.virtual_time:Timeline",
        "open_sim": "simstrategy.sim.backend:open_sim",
        "timeline": "simstrategy.sim.virtual_time:timeline",
    }
)
"""Where each name is defined."""


__getattr__, __dir__ = on_first_use(globals(), _WHERE)
