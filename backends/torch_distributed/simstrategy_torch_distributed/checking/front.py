"""Runs a script of torchrun for `simstrategy check --as torchrun`: an entry point of `simstrategy.scripts`."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, final

from simstrategy.check.scripts.facts import ScriptRun, ScriptSettings
from simstrategy_torch_distributed.checking.reading import found_in
from simstrategy_torch_distributed.preloading import modules_of_torch
from simstrategy_torch_distributed.report import Report
from simstrategy_torch_distributed.running import run_on, started
from simstrategy_torch_distributed.settings import Settings, Watching

__all__ = ["runner_of"]

_LINES_MAX: Final = 20
_IMPORTED: Final = ("torch._dynamo",)
"""What torch imports when a rank makes its first step, or its first DistributedDataParallel: once for all ranks."""


def runner_of(script: str) -> "TorchrunRunner":
    """Returns what runs a script on simulated ranks.  Raises InvalidArgument for what is no script."""
    return TorchrunRunner(Settings(script))


@final
class TorchrunRunner:
    """Runs one script; the process that forks the ranks is shared by all its runs."""

    name = "torchrun"
    nothing = (
        "the script made no step of an optimizer and observed nothing. Call simstrategy_torch_distributed.observe for "
        "what matters, such as losses, or name lines of its output with --same-output"
    )

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._server = started([*modules_of_torch(settings.script), *_IMPORTED])

    def close(self) -> None:
        self._server.close()

    def run(self, settings: ScriptSettings) -> ScriptRun:
        """Runs the script once and returns what all its ranks did."""
        with TemporaryDirectory(prefix="simstrategy-") as folder:
            files = [Path(folder) / f"rank{rank}" for rank in range(settings.replicas)]
            watching = Watching(tuple(map(str, files)), settings.nudge, settings.detailed)
            made = Settings(
                self._settings.script,
                settings.arguments,
                ranks=settings.replicas,
                order=settings.order,
                record=True,
                watching=watching,
            )
            report = run_on(self._server, made)
            found = found_in(files, detailed=settings.detailed)
        calls = 0 if report.record is None else len(report.record)
        return ScriptRun(
            _error(report),
            report.ranks[0].output,
            found.values,
            found.steps,
            calls + found.steps_made + len(found.values),
            any(value.copies[0].dtype.kind in "fc" for value in found.values if value.is_state),
            found.left,
        )


def _error(report: Report) -> tuple[str, str] | None:
    """Returns how a run failed: a class, or an exit code, and a text; None for one that did not."""
    if not report.exit_code:
        return None
    kind = f"exit code {report.exit_code}" if report.finding is None else report.finding.error
    parts = [report.text()] if report.finding is not None else [one.text for one in report.ranks if one.code]
    if not report.failed:
        parts += _end_of(report.ranks[0].output)
    return kind, "\n".join(parts)


def _end_of(output: str) -> Sequence[str]:
    lines = output.splitlines()[-_LINES_MAX:]
    return ["\n  ".join(["Rank 0 printed, at the end:", *lines])] if lines else []
