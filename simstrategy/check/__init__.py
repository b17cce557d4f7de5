"""Runs one program on several backends and says whether they agree: the main job."""

from simstrategy.check.check import check
from simstrategy.check.compiled import CompiledReport, check_compiled
from simstrategy.check.report import Report, Row

__all__ = ["CompiledReport", "Report", "Row", "check", "check_compiled"]
