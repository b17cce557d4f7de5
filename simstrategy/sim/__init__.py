"""The deterministic simulator: devices, collectives and clusters in one process."""

from simstrategy.sim.backend import SimBackend, open_sim
from simstrategy.sim.cluster import Cluster
from simstrategy.sim.collectives import ORDERS

__all__ = ["ORDERS", "Cluster", "SimBackend", "open_sim"]
