"""Causes: why two runs of one program, on different numbers of replicas, differ beyond rounding.

From recorded values alone; no program is run here. What the numbers do not prove is stated to be not recognised.
"""

from simstrategy.check.causes.explaining import explain
from simstrategy.check.causes.facts import KINDS, Cause, PointFacts, Units
from simstrategy.check.causes.units import units_of

__all__ = ["KINDS", "Cause", "PointFacts", "Units", "explain", "units_of"]
