"""What is to be run, and how.  Checked when it is made."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from simstrategy.errors import InvalidArgument
from simstrategy.short_repr import short_repr
from simstrategy.sim.collectives import ORDERS
from simstrategy_torch_distributed.laws.judged import DEFAULT

__all__ = ["RANKS_MAX", "Settings", "Watching"]

RANKS_MAX: Final = 256


@dataclass(frozen=True, slots=True)
class Watching:
    """What the ranks record of a script's optimizers, for a check.

    files: to which each rank writes. nudge: a pattern of `device.perturb` by which parameters and inputs are moved;
    None for none. detailed: whether gradients and sums are recorded.
    """

    files: tuple[str, ...]
    nudge: int | None
    detailed: bool


@dataclass(frozen=True, slots=True)
class Settings:
    """script: a file, or the name of a module.  order: of additions, "linear", "ring" or "tree".

    seed: of the choice among senders, and of Python's and NumPy's generators in each rank. tee: show what all ranks
    print. busy_s: after how many seconds ranks that others wait for are shown with their stacks; limit_s: after how
    many they end the run, None for never. record: keep the calls. watching: what ranks record; nothing is shown of what
    they print then, and no law of one run is judged. laws: the names of those that are judged. Raises InvalidArgument.
    """

    script: str
    arguments: tuple[str, ...] = ()
    ranks: int = 1
    is_module: bool = False
    order: str = "linear"
    seed: int = 0
    tee: bool = False
    busy_s: float = 30.0
    limit_s: float | None = None
    record: bool = False
    watching: Watching | None = None
    laws: tuple[str, ...] = DEFAULT

    def __post_init__(self) -> None:
        if not 1 <= self.ranks <= RANKS_MAX:
            raise InvalidArgument(
                f"A run has from 1 to {RANKS_MAX} simulated ranks, got {self.ranks}. Pass for example "
                f"--nproc-per-node 4."
            )
        if self.order not in ORDERS:
            raise InvalidArgument(
                f"There is no order {short_repr(self.order)}; choose from {', '.join(sorted(ORDERS))}."
            )
        if self.seed < 0:
            raise InvalidArgument(f"A seed is a number of at least 0, got {self.seed}.")
        if not self.is_module:
            _require_script(self.script)


def _require_script(script: str) -> None:
    path = Path(script)
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InvalidArgument(f"The script {script!r} cannot be read: {reason}. Pass the name of a file.") from error
    if not stat.S_ISREG(mode):
        raise InvalidArgument(
            f"{script!r} is no file. Pass the name of a script; for a module, put -m before its name."
        )
    if not os.access(path, os.R_OK):
        raise InvalidArgument(f"The script {script!r} cannot be read: Permission denied. Make it readable.")
