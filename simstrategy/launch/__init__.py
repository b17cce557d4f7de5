"""Workers on this machine, real processes that stay: for checks, tests and teaching.  One machine alone."""

from simstrategy.launch.launcher import JobResult, Launcher
from simstrategy.launch.ports import reserved_port

__all__ = ["JobResult", "Launcher", "reserved_port"]
