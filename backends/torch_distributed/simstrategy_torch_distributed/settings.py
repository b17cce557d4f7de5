"""What is to be run, and how.  Checked when it is made."""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from simstrategy.errors import InvalidArgument
from simstrategy.short_repr import short_repr
from simstrategy.sim.collectives import ORDERS
from simstrategy_torch_distributed.laws.named import DEFAULT

__all__ = ["OF_RANK", "RANKS_MAX", "Fault", "Function", "Settings", "Watching"]

RANKS_MAX: Final = 256
DEVICES: Final = ("cpu", "cpu-for-cuda")


class Function(NamedTuple):
    """What each rank calls in place of a script.  target: "module:function", of an installed module.

    The function is given `data`, and returns None, or a text that states how it ended.
    """

    target: str
    data: str


class Fault(NamedTuple):
    """What is planted in one rank of a run.  kind: "" for nothing, so that the run is observed alone.

    The others are "exception", "inf", "inf in its input", "early end", "dead" and "stopped". rank: in which; point: at
    its call of this number, from 1; of an input, at this call of a model.
    """

    kind: str = ""
    rank: int = -1
    point: int = 0


Sums = tuple[tuple[str, ...], tuple[Mapping[str, float], ...]]
"""Which sums move where their terms cancel, as the fields of `device.perturbed.LeftSums`."""


@dataclass(frozen=True, slots=True)
class Watching:
    """What the ranks record of a script's optimizers, for a check.

    files: to which each rank writes. nudge: a pattern of `device.perturb` by which parameters and inputs are moved;
    None for none. detailed: whether gradients and sums are recorded. reseeded: the sources of each rank's own draws
    that get other seeds, as `watched/seeds.py` names them. shared: whether the values of all calls are recorded. sums:
    None, or a nudge moves these sums of gradients, as `moved_sums` does, where their terms cancel. predicting: kinds of
    layers that do what they do in a prediction, "statistics" and "draws"; "elsewhere" for another constant than the
    mean in place of what is drawn. narrow: the dtype, "bfloat16" or "float16", by whose units inputs and gradients are
    nudged; None for their own. listing: the file in which the first rank lists what libraries it has imported; None
    where that is not asked.
    """

    files: tuple[str, ...]
    nudge: int | None
    detailed: bool
    reseeded: tuple[str, ...] = ()
    shared: bool = False
    sums: Sums | None = None
    predicting: tuple[str, ...] = ()
    narrow: str | None = None
    listing: str | None = None


OF_RANK: Final = "\0rank\0"
"""What stands in the arguments of a script for the number of each rank: no argument of a command has it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """script: a file, or the name of a module.  order: of additions, "linear", "ring" or "tree".

    seed: of the choice among senders, and of the global generators in each rank. tee: show what all ranks
    print. busy_s: after how many silent seconds ranks that others wait for are shown with their stacks; limit_s: after
    how many any rank ends the run, None for never. record: keep the calls. device: "cpu", or "cpu-for-cuda" to map
    CUDA's names to it. function: what runs in place of the script, which is then the file that it is from. watching:
    what ranks record; nothing is shown of what they print then. laws: the names of those of one run that are judged.
    fault: what is planted, of a run for the law of faults. folder: the ranks' current one, None for this process's.
    grace_s: how many seconds ranks have to end in after a failure or a finding. seat: where ranks wait for processes
    that the script spawns, as `seating.py` has it; None where they run the script. Raises InvalidArgument.
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
    device: str = "cpu"
    function: Function | None = None
    laws: tuple[str, ...] = DEFAULT
    fault: Fault | None = None
    folder: str | None = None
    grace_s: float = 2.0
    seat: str | None = None

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
        if self.device not in DEVICES:
            raise InvalidArgument(f"There is no device {short_repr(self.device)}; choose from {', '.join(DEVICES)}.")
        if self.seed < 0:
            raise InvalidArgument(f"A seed is a number of at least 0, got {self.seed}.")
        for name, value in (("busy", self.busy_s), ("limit", self.limit_s)):
            if value is not None and not value > 0:
                raise InvalidArgument(f"--{name}-seconds takes a number above 0, got {value}. Pass for example 30.")
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
