"""XLA devices, through JAX, as three backends of simstrategy: `xla`, `tpu` and `xla_processes`.  It re-exports only.

The names are imported on their first use, and JAX with them: the command line lists a command of this distribution, and
JAX takes ten times as long to import as all the rest.
"""

import importlib
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from simstrategy_xla.backend import XlaBackend
    from simstrategy_xla.joining import open_processes
    from simstrategy_xla.opening import open_tpu, open_xla

__all__ = ["XlaBackend", "open_processes", "open_tpu", "open_xla"]

_LATE: Final = MappingProxyType(
    {
        "XlaBackend": "simstrategy_xla.backend",
        "open_processes": "simstrategy_xla.joining",
        "open_tpu": "simstrategy_xla.opening",
        "open_xla": "simstrategy_xla.opening",
    }
)
"""The modules that define the names."""


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = vars(importlib.import_module(_LATE[name]))[name]
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATE})
