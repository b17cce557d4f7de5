"""What to do after a run of the command: texts for its end.  No torch here."""

import shlex
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from simstrategy_torch_distributed.settings import Settings

__all__ = ["ALONE", "command_for_cause"]

ALONE: Final = "this run had one rank, which has nothing to compare with: give --nproc-per-node 2"
"""A remark on a run for which no number of ranks was given."""


def command_for_cause(settings: "Settings") -> str:
    """Returns the command that looks for the cause of what one run has found, with as many ranks and with one."""
    words = ["simstrategy", "check", "--as", "torchrun"]
    for option, value, default in (
        ("--device", settings.device, "cpu"),
        ("--order", settings.order, "linear"),
        ("--replicas", f"1,{settings.ranks}", ""),
    ):
        words += [] if value == default else [option, value]
    words += ["-m", settings.script] if settings.is_module else [settings.script]
    if settings.arguments:
        words += ["--", *(one.replace("{", "{{").replace("}", "}}") for one in settings.arguments)]
    return shlex.join(words)
