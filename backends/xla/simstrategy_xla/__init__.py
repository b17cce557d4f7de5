"""XLA devices, through JAX, as three backends of simstrategy: `xla`, `tpu` and `xla_processes`.  It re-exports only.

The names are imported on their first use, and JAX with them: the command line lists a command of this distribution, and
JAX takes ten times as long to import as all the rest.
"""

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from simstrategy.late_names import on_first_use

if TYPE_CHECKING:
    from simstrategy_xla.backend import XlaBackend
    from simstrategy_xla.joining import open_processes
    from simstrategy_xla.opening import open_tpu, open_xla

__all__ = ["XlaBackend", "open_processes", "open_tpu", "open_xla"]

_WHERE: Final = MappingProxyType(
    {
        "XlaBackend": "simstrategy_xla.backend:XlaBackend",
        "open_processes": "simstrategy_xla.joining:open_processes",
        "open_tpu": "simstrategy_xla.opening:open_tpu",
        "open_xla": "simstrategy_xla.opening:open_xla",
    }
)
"""Where each name is defined."""


__getattr__, __dir__ = on_first_use(globals(), _WHERE)
