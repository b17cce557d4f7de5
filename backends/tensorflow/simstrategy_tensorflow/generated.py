"""The files that AutoGraph generates in the temporary folder: those of this process are removed.

TensorFlow 2.21.0 removes its own at the end of a process, and never what Python compiles of them beside.
"""

import atexit
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

__all__ = ["remove_at_exit", "remove_generated"]

_NAME: Final = "__autograph_generated_file"


def remove_generated() -> None:
    """Removes the files of the functions that this process has converted; the functions stay.  May be called again."""
    for name in [one for one in list(sys.modules) if one.startswith(_NAME)]:
        spec = sys.modules[name].__spec__
        origin, compiled = (None, None) if spec is None else (spec.origin, spec.cached)
        with suppress(OSError):  # the folder may be gone
            for file in (origin, compiled):
                if file is not None:
                    Path(file).unlink(missing_ok=True)
            if compiled is not None:
                Path(compiled).parent.rmdir()  # unless it has files of others


@cache
def remove_at_exit() -> None:
    """Lets the process remove its files when it ends."""
    atexit.register(remove_generated)
