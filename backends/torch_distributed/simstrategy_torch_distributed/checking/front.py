"""Runs a script of torchrun for `simstrategy check --as torchrun`: an entry point of `simstrategy.scripts`."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from signal import SIGTERM
from tempfile import TemporaryDirectory
from typing import Final, final

from simstrategy.check.injection import Fault as PlantedFault
from simstrategy.check.report import Report as CheckReport
from simstrategy.check.scripts import check_script
from simstrategy.check.scripts.facts import REFUSED, Batches, JudgedRun, ScriptRun, ScriptSettings
from simstrategy.device.narrow import coarsest
from simstrategy_torch_distributed.checking.ends import ended_of
from simstrategy_torch_distributed.checking.reading import found_in
from simstrategy_torch_distributed.checking.recorded import recorded_run
from simstrategy_torch_distributed.checking.servers import Servers
from simstrategy_torch_distributed.checking.spawned_runs import run_spawned
from simstrategy_torch_distributed.checking.tracing import traced_in
from simstrategy_torch_distributed.laws.named import DEFAULT
from simstrategy_torch_distributed.preloading import modules_of_torch
from simstrategy_torch_distributed.report import Report
from simstrategy_torch_distributed.running import run_on
from simstrategy_torch_distributed.settings import OF_RANK, Fault, Settings, Watching

__all__ = ["judge_faults", "runner_of", "spawning_runner_of"]

_LINES_MAX: Final = 20
_TRACEBACK: Final = "Traceback (most recent call last):"
_SITE: Final = re.compile(r" at ((?:(?! at )[^\n,:;'\"])+?\.py:\d+)")
_OF_CAUSES: Final = ("random",)
"""Laws whose remarks a cause quotes: they are added to runs that are recorded for one."""
_IMPORTED: Final = ("torch._dynamo",)
"""What torch imports when a rank makes its first step, or its first DistributedDataParallel: once for all ranks."""


_LIMIT_S: Final = 60.0
"""How long a rank may be silent in a run for the law of faults."""
_GRACE_S: Final = 10.0
"""How long ranks have to end in such a run, after a failure."""


def runner_of(
    script: str, *, is_module: bool = False, device: str = "cpu", imported: Sequence[str] = ()
) -> "TorchrunRunner":
    """Returns what runs a script on simulated ranks.  Raises InvalidArgument for what is no script, and no device.

    is_module: whether it is the name of a module, which Python finds in the current folder as well. device: "cpu", or
    "cpu-for-cuda" for a script that was written for GPUs. imported: names of modules that are imported once for all
    ranks of all runs: of libraries that do nothing for one rank alone.
    """
    return TorchrunRunner(Settings(script, is_module=is_module, device=device), imported)


def spawning_runner_of(script: str, *, is_module: bool = False, device: str = "cpu") -> "TorchrunRunner":
    """Returns what runs a script that spawns its ranks itself, as `python SCRIPT` does; like `runner_of`."""
    return TorchrunRunner(Settings(script, is_module=is_module, device=device), (), "python")


def judge_faults(settings: Settings, kinds: Sequence[str]) -> CheckReport:
    """Returns what the law of faults makes of a script that is run with these settings.

    kinds: words of `check.scripts.faults.KINDS`, or "all". Raises InvalidArgument for another word.
    """
    arguments = [text.replace("{", "{{").replace("}", "}}") for text in settings.arguments]
    return check_script(
        lambda *_, **__: TorchrunRunner(settings),
        settings.script,
        arguments=arguments,
        replicas=[settings.ranks],
        same_on=["faults"],
        order=settings.order,
        faults=kinds,
        seed=settings.seed,
    )


@final
class TorchrunRunner:
    """Runs one script; the processes that fork the ranks are shared by all its runs.

    name: "torchrun", or "python" for a script that spawns its ranks itself.
    """

    nothing = (
        "the script made no step of an optimizer of torch or Keras, and observed nothing. Call "
        "simstrategy_torch_distributed.observe for what matters, such as losses, or name lines of its output with "
        "--same-output"
    )

    laws: Sequence[str] = DEFAULT

    def __init__(self, settings: Settings, imported: Sequence[str] = (), name: str = "torchrun") -> None:
        self.name = name
        self.rank_text = OF_RANK if name == "torchrun" else None
        self._settings = settings
        modules = [*modules_of_torch(settings.script), *_IMPORTED, *imported]
        self._servers = Servers(modules, learns=name == "torchrun" and settings.device == "cpu")

    def close(self) -> None:
        self._servers.close()

    def run(self, settings: ScriptSettings) -> ScriptRun:
        """Runs the script once and returns what all its ranks did."""
        run = self._run(settings)
        return run if settings.is_planted or self._servers.take(settings, run) else self._run(settings)

    def _run(self, settings: ScriptSettings) -> ScriptRun:
        with TemporaryDirectory(prefix="simstrategy-") as folder:
            files = [Path(folder) / f"rank{rank}" for rank in range(settings.replicas)]
            made = self._made(settings, files)
            servers = self._servers.all
            report = run_on(servers, made) if self.name == "torchrun" else run_spawned(servers, made, Path(folder))
            found = found_in(files, detailed=settings.detailed)
            ended = ended_of(report, files) if settings.is_planted else None
            traced = traced_in(files if settings.detailed else (), steps=found.steps_common)
            error = _error(report)
            recording = recorded_run(made, report, files, error) if settings.recorded else None
        calls = 0 if report.record is None else len(report.record)
        return ScriptRun(
            error,
            report.ranks[0].output,
            found.values,
            found.steps,
            calls + found.steps_made + len(found.values),
            any(value.copies[0].dtype.kind in "fc" for value in found.values if value.is_state),
            found.left,
            tuple(_judged(report, settings.laws)),
            report.noted,
            traced,
            found.draws,
            found.inputs,
            ended,
            recording,
            found.predicted,
            found.missing,
            coarsest(found.narrow),
            found.seeds,
            Batches(found.steps_made, found.joined, found.orders),
            report.record is None or report.record.is_joint,
        )

    def _made(self, settings: ScriptSettings, files: Sequence[Path]) -> Settings:
        """Returns the settings of the launcher for a run.  files: what each rank writes."""
        made = replace(
            self._settings,
            arguments=settings.arguments,
            ranks=settings.replicas,
            order=settings.order,
            record=True,
            watching=_watching(settings, files, None if settings.is_planted else self._servers.listing),
            laws=(*settings.laws, *_OF_CAUSES) if settings.detailed else settings.laws,
        )
        if settings.folder is not None:
            script = made.script if made.is_module else str(Path(made.script).absolute())
            made = replace(made, script=script, folder=settings.folder)
        return _planted(made, settings.fault) if settings.is_planted else made


def _planted(made: Settings, planted: PlantedFault | None) -> Settings:
    """Returns the settings of a run of the law of faults, with a fault or without one."""
    fault = Fault() if planted is None else Fault(planted.kind, planted.replica, planted.point)
    return replace(made, fault=fault, limit_s=made.limit_s or _LIMIT_S, grace_s=_GRACE_S)


def _watching(settings: ScriptSettings, files: Sequence[Path], listing: str | None) -> Watching:
    """Returns what the ranks of a run record.  files: of each rank. listing: as of `Watching`."""
    return Watching(
        tuple(map(str, files)),
        settings.nudge,
        settings.detailed,
        settings.reseeded,
        settings.recorded,
        settings.sums,
        settings.predicting,
        settings.narrow,
        listing,
    )


def _judged(report: Report, laws: Sequence[str]) -> Iterator[JudgedRun]:
    """Yields what each law of one run has found."""
    for law in laws:
        texts = [one.text for one in report.broken if one.kind == law]
        site = _SITE.search("\n".join(texts))
        yield JudgedRun(law, "\n".join(texts) or None, report.compared.get(law, 0), site[1] if site else "")


def _error(report: Report) -> tuple[str, str] | None:
    """Returns how a run failed: a class, or an exit code, and a text; None for one that did not."""
    if report.finding is None and report.failed is None:
        return None  # what the laws of one run find is no failure
    kind = f"exit code {report.exit_code}" if report.finding is None else report.finding.error
    ended = [one.text for one in report.ranks if one.code and one.code != -SIGTERM]  # the others are ended after them
    if report.failed is not None and ended and ended[0].startswith(f"{REFUSED}("):
        kind = REFUSED
    parts = [report.text()] if report.finding is not None else [one.text for one in report.ranks if one.code]
    if not report.failed:
        parts += _end_of(report.ranks[0].output, parts[0].partition("\n")[0])
    return kind, "\n".join(parts)


def _end_of(output: str, error: str) -> Sequence[str]:
    """Returns the end of what rank 0 printed, without the traceback of the error that is shown already.

    error: the first line of its text.
    """
    lines = output.splitlines()
    raised = next((at for at, line in enumerate(lines) if error and error in line), None)
    if raised is not None:
        begun = [at for at, line in enumerate(lines[:raised]) if _TRACEBACK in line]
        lines = lines[: begun[-1]] if begun else lines
    lines = lines[-_LINES_MAX:]
    return ["\n  ".join(["Rank 0 printed, at the end:", *lines])] if lines else []
