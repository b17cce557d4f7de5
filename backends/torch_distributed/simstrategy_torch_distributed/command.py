"""The command `simstrategy torchrun`: torchrun's spelling, on simulated ranks."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from simstrategy.cli.texts import words
from simstrategy.errors import InvalidArgument
from simstrategy_torch_distributed.laws.named import LAWS, chosen
from simstrategy_torch_distributed.next_steps import ALONE, command_for_cause

if TYPE_CHECKING:
    from simstrategy_torch_distributed.report import Report
    from simstrategy_torch_distributed.settings import Settings

__all__ = ["FAULTS", "torchrun"]

# What only a run needs is imported by the functions of runs: the command line lists this command too.

FAULTS: Final = ("exception", "inf", "input", "exit", "kill", "stop")
"""The words of `simstrategy.check.scripts.faults.KINDS`, without the import of the judge."""


_IGNORED: Final = (
    *("rdzv-backend", "rdzv-endpoint", "rdzv-id", "rdzv-conf", "master-addr", "master-port", "max-restarts"),
    *("monitor-interval", "start-method", "node-rank", "log-dir", "redirects", "role", "local-addr"),
)
"""Options of torchrun about real processes, several machines and log files; each also with underscores."""
_SPELLINGS: Final = sorted({f"--{one}" for name in _IGNORED for one in (name, name.replace("-", "_"))})

Program = Annotated[list[str], typer.Argument(metavar="SCRIPT [ARGS]…", help="The script, and its arguments.")]
Ranks = Annotated[
    str | None,
    typer.Option("--nproc-per-node", "--nproc_per_node", help="The number of simulated ranks.", show_default="1"),
]
Module = Annotated[bool, typer.Option("--module", "-m", help="SCRIPT is the name of a module.")]
Order = Annotated[str, typer.Option(help="The order of additions: linear, ring or tree.")]
Seed = Annotated[int, typer.Option(help="Chooses among senders, and seeds Python's, NumPy's and torch's generators.")]
Tee = Annotated[str | None, typer.Option("--tee", "-t", help="3: show what all ranks print, each line with its rank.")]
Json = Annotated[Path | None, typer.Option(help="Write the report to this file.")]
Recorded = Annotated[Path | None, typer.Option("--record", help="Write the completed calls of all ranks to this file.")]
Busy = Annotated[float, typer.Option(help="Show the stacks of a rank that others have waited for so many seconds.")]
Added = Annotated[str, typer.Option("--laws", help=f"Laws to add, or all: {', '.join(LAWS)}.")]
Without = Annotated[str, typer.Option("--not", help="Laws to leave out, such as state, or all.")]
Faults = Annotated[
    str, typer.Option(help=f"In place of one run: plant faults, all or some of {', '.join(FAULTS)}, each in a run.")
]
Limit = Annotated[
    float | None, typer.Option("--limit-seconds", help="End the run when a rank was silent for so many seconds.")
]
Device = Annotated[
    str, typer.Option(help="cpu, or cpu-for-cuda: CUDA's names mean the CPU, for scripts that were written for GPUs.")
]
Nodes = Annotated[str, typer.Option(help="1: there is one machine.")]
Standalone = Annotated[bool, typer.Option("--standalone", help="Accepted: a run is always alone.")]
Spawned = Annotated[
    bool, typer.Option("--spawned", help="SCRIPT spawns its ranks itself: each process that it spawns may be one.")
]
Ignored = Annotated[list[str] | None, typer.Option(*_SPELLINGS, help="torchrun's, and ignored, which is said.")]


def torchrun(
    arguments: Program,
    nproc_per_node: Ranks = None,
    module: Module = False,
    order: Order = "linear",
    seed: Seed = 0,
    tee: Tee = None,
    json: Json = None,
    record: Recorded = None,
    device: Device = "cpu",
    busy_seconds: Busy = 30.0,
    limit_seconds: Limit = None,
    laws: Added = "",
    without: Without = "",
    faults: Faults = "",
    nnodes: Nodes = "1",
    standalone: Standalone = False,
    spawned: Spawned = False,
    ignored: Ignored = None,
) -> None:
    """Runs an unmodified torch.distributed script on simulated ranks of this machine and compares their calls.

    Ends with the script's own exit code, or with 1 and a text that names each rank and line where the ranks' calls do
    not agree. Rank 0 prints here; the others do with --tee 3. A script that spawns its ranks itself prints as it does.
    """
    _require_one_machine(nnodes, ignored or [])
    if spawned:
        ranks = nproc_per_node not in (None, "1")
        given = {"--nproc-per-node": ranks, "--tee": tee, "--json": json, "--record": record}
        _refuse_with_spawned(given | {"--device": device != "cpu", "--faults": faults})
    from simstrategy_torch_distributed.settings import Settings  # noqa: PLC0415

    settings = Settings(
        arguments[0],
        tuple(arguments[1:]),
        ranks=_ranks(nproc_per_node or "1"),
        is_module=module,
        order=order,
        seed=seed,
        tee=tee not in (None, "0"),
        device=device,
        busy_s=busy_seconds,
        limit_s=limit_seconds,
        record=record is not None,
        laws=chosen(words(laws), words(without)),
    )
    if faults:
        raise typer.Exit(_planted(settings, words(faults), {"--json": json, "--record": record, "--tee": tee}))
    is_asked = nproc_per_node is not None
    raise typer.Exit(_run_spawning(settings) if spawned else _run(settings, json, record, is_asked=is_asked))


def _run_spawning(settings: "Settings") -> int:
    from simstrategy_torch_distributed.spawning_script import run_spawning  # noqa: PLC0415

    return run_spawning(settings)


def _run(settings: "Settings", json: Path | None, record: Path | None, *, is_asked: bool) -> int:
    """Runs a script once, writes what was asked for, and returns the exit code.

    is_asked: whether the number of ranks was given.
    """
    from simstrategy_torch_distributed.running import run  # noqa: PLC0415

    report = run(settings)
    if not is_asked and report.has_joined and not report.exit_code:
        report = report._replace(noted=(*report.noted, ALONE))
    if text := report.text():
        sys.stderr.write(f"simstrategy: {text}\n")
    if any(one.kind == "state" for one in report.broken):
        sys.stderr.write(f"To look for the cause: {command_for_cause(settings)}\n")
    _write_files(report, json, record)
    return report.exit_code


def _planted(settings: "Settings", kinds: Sequence[str], of_one_run: Mapping[str, object]) -> int:
    """Judges a script by the law of faults, shows the table, and returns the exit code."""
    _require_no_files(of_one_run)
    from simstrategy.check.formats import EXIT_CODES  # noqa: PLC0415
    from simstrategy_torch_distributed.checking.front import judge_faults  # noqa: PLC0415

    report = judge_faults(settings, kinds)
    typer.echo(str(report))
    return EXIT_CODES[report.verdict]


def _require_one_machine(nodes: str, ignored: list[str]) -> None:
    """Raises InvalidArgument for several machines, and states which options about them are ignored."""
    if nodes not in ("1", "1:1"):
        raise InvalidArgument(
            f"Simulated ranks are on one machine, got --nnodes {nodes}. Pass --nnodes 1, or leave it out."
        )
    if ignored:
        typer.echo(f"simstrategy: ignored, as all ranks are simulated here: {', '.join(ignored)}", err=True)


def _refuse_with_spawned(given: Mapping[str, object]) -> None:
    """Raises InvalidArgument for options that have no meaning where the script starts its ranks itself."""
    found = [option for option, value in given.items() if value]
    if found:
        raise InvalidArgument(
            f"With --spawned the script starts its ranks and shows what they print: leave out {', '.join(found)}."
        )


def _require_no_files(given: Mapping[str, object]) -> None:
    """Raises InvalidArgument for options of one run where there are many."""
    for option, value in given.items():
        if value is not None:
            raise InvalidArgument(
                f"With --faults there are many runs, of which {option} would show one: leave it out. For a file with "
                f"the results use simstrategy check --as torchrun --faults all --json FILE."
            )


def _ranks(text: str) -> int:
    """Returns the number of ranks: torchrun accepts a number, or words for what the machine has."""
    if text in ("auto", "cpu"):
        return os.cpu_count() or 1
    try:
        return int(text)
    except ValueError as error:
        raise InvalidArgument(f"--nproc-per-node takes a number or cpu, got {text!r}. Pass for example 4.") from error


def _write_files(report: "Report", json: Path | None, record: Path | None) -> None:
    """Writes the report and the completed calls to the files that are named.  Raises InvalidArgument."""
    if json is not None:
        try:
            json.write_text(report.as_json(), encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise InvalidArgument(f"--json: {str(json)!r} was not written: {error.strerror}.") from error
    if record is not None and report.record is not None:
        report.record.trace(str(Path.cwd())).write(record)
