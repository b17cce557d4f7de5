"""Runs one program on several backends and compares the outcomes: the main job."""

from simstrategy.check.check import check
from simstrategy.check.report import Report, Row

__all__ = ["Report", "Row", "check"]
