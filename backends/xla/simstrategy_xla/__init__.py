"""XLA devices, through JAX, as a backend of simstrategy.  The door only."""

from simstrategy_xla.backend import XlaBackend
from simstrategy_xla.opening import open_tpu, open_xla

__all__ = ["XlaBackend", "open_tpu", "open_xla"]
