"""Workers on this machine, real processes that stay: for checks, tests and teaching.  One machine alone."""

from simstrategy.launch.launcher import Ended, Launcher
from simstrategy.launch.ports import reserved_port

__all__ = ["Ended", "Launcher", "reserved_port"]
