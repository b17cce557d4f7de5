"""Judges scripts that the launcher of another library starts, as they are.

`facts.py` is what the package of that library gives: the values of one run. `fronts.py` finds the package by name.
"""

from simstrategy.check.scripts.fronts import front_named
from simstrategy.check.scripts.judging import check_script

__all__ = ["check_script", "front_named"]
