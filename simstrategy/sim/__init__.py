"""The deterministic simulator: devices, collectives, clusters in one process, and virtual time."""

from simstrategy.sim.backend import SimBackend, open_sim
from simstrategy.sim.cluster import Cluster
from simstrategy.sim.collectives import ORDERS
from simstrategy.sim.cost import Cost
from simstrategy.sim.timeline import PointTimes, Span, Timeline, timeline

__all__ = ["ORDERS", "Cluster", "Cost", "PointTimes", "SimBackend", "Span", "Timeline", "open_sim", "timeline"]
