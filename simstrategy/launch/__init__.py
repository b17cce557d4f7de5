"""Starts worker processes on this machine and keeps them for many jobs: for checks, tests and teaching."""

from simstrategy.launch.launcher import JobResult, Launcher
from simstrategy.launch.ports import reserved_port

__all__ = ["JobResult", "Launcher", "reserved_port"]
