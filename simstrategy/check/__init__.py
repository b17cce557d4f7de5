"""Judges a program: runs it with several settings, and compares the runs by laws."""

from simstrategy.check.check import REPLICAS, check
from simstrategy.check.checkpoint import Checkpoint
from simstrategy.check.exempt import exempt
from simstrategy.check.report import Report
from simstrategy.check.row import Finding, Row

__all__ = ["REPLICAS", "Checkpoint", "Finding", "Report", "Row", "check", "exempt"]
