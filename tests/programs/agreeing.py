"""All programs that every backend has to agree about: name -> case.  The programs themselves are next door."""

from typing import Final

import agreeing_collectives
import agreeing_errors
import agreeing_extended
import agreeing_reduces
import agreeing_runs
import agreeing_variables
from program_catalogue import Case

__all__ = ["AGREEING"]

_MODULES: Final = (
    agreeing_runs,
    agreeing_collectives,
    agreeing_reduces,
    agreeing_variables,
    agreeing_extended,
    agreeing_errors,
)

AGREEING: Final[dict[str, Case]] = {name: case for module in _MODULES for name, case in module.PROGRAMS.items()}
assert len(AGREEING) == sum(len(module.PROGRAMS) for module in _MODULES), "two programs have one name"
