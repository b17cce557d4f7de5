"""XLA devices, through JAX, as three backends of simstrategy: `xla`, `tpu` and `xla_processes`.  It re-exports only."""

from simstrategy_xla.backend import XlaBackend
from simstrategy_xla.joining import open_processes
from simstrategy_xla.opening import open_tpu, open_xla

__all__ = ["XlaBackend", "open_processes", "open_tpu", "open_xla"]
