"""The command `simstrategy torchrun`: torchrun's spelling, on simulated ranks."""

import os
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from simstrategy.cli.options import words
from simstrategy.errors import InvalidArgument
from simstrategy_torch_distributed.laws.judged import LAWS, chosen
from simstrategy_torch_distributed.running import run
from simstrategy_torch_distributed.settings import Settings

__all__ = ["torchrun"]


_IGNORED: Final = (
    *("rdzv-backend", "rdzv-endpoint", "rdzv-id", "rdzv-conf", "master-addr", "master-port", "max-restarts"),
    *("monitor-interval", "start-method", "node-rank", "log-dir", "redirects", "role", "local-addr"),
)
"""Options of torchrun about real processes, several machines and log files; each also with underscores."""
_SPELLINGS: Final = sorted({f"--{one}" for name in _IGNORED for one in (name, name.replace("-", "_"))})

Program = Annotated[list[str], typer.Argument(metavar="SCRIPT [ARGS]…", help="The script, and its arguments.")]
Ranks = Annotated[str, typer.Option("--nproc-per-node", "--nproc_per_node", help="The number of simulated ranks.")]
Module = Annotated[bool, typer.Option("--module", "-m", help="SCRIPT is the name of a module.")]
Order = Annotated[str, typer.Option(help="The order of additions: linear, ring or tree.")]
Seed = Annotated[int, typer.Option(help="Chooses among senders, and seeds Python's and NumPy's generators.")]
Tee = Annotated[str | None, typer.Option("--tee", "-t", help="3: show what all ranks print, each line with its rank.")]
Json = Annotated[Path | None, typer.Option(help="Write the report to this file.")]
Recorded = Annotated[Path | None, typer.Option("--record", help="Write the completed calls of all ranks to this file.")]
Busy = Annotated[float, typer.Option(help="Show the stacks of a rank that others have waited for so many seconds.")]
Added = Annotated[str, typer.Option("--laws", help=f"Laws to add, or all: {', '.join(LAWS)}.")]
Without = Annotated[str, typer.Option("--not", help="Laws to leave out, such as state, or all.")]
Limit = Annotated[
    float | None, typer.Option("--limit-seconds", help="End the run when a rank was silent for so many seconds.")
]
Device = Annotated[
    str, typer.Option(help="cpu, or cpu-for-cuda: CUDA's names mean the CPU, for scripts that were written for GPUs.")
]
Nodes = Annotated[str, typer.Option(help="1: there is one machine.")]
Standalone = Annotated[bool, typer.Option("--standalone", help="Accepted: a run is always alone.")]
Ignored = Annotated[list[str] | None, typer.Option(*_SPELLINGS, help="torchrun's, and ignored, which is said.")]


def torchrun(
    arguments: Program,
    nproc_per_node: Ranks = "1",
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
    nnodes: Nodes = "1",
    standalone: Standalone = False,
    ignored: Ignored = None,
) -> None:
    """Runs an unmodified torch.distributed script on simulated ranks of this machine and compares their calls.

    Ends with the script's own exit code, or with 1 and a text that names each rank and line where the ranks' calls do
    not agree. Rank 0 prints here; the others do with --tee 3.
    """
    _require_one_machine(nnodes)
    if ignored:
        typer.echo(f"simstrategy: ignored, as all ranks are simulated here: {', '.join(ignored)}", err=True)
    settings = Settings(
        arguments[0],
        tuple(arguments[1:]),
        ranks=_ranks(nproc_per_node),
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
    report = run(settings)
    if text := report.text():
        sys.stderr.write(f"simstrategy: {text}\n")
    if json is not None:
        _write(json, report.as_json(), "--json")
    if record is not None and report.record is not None:
        report.record.trace(str(Path.cwd())).write(record)
    if report.exit_code:
        raise typer.Exit(report.exit_code)


def _require_one_machine(nodes: str) -> None:
    if nodes not in ("1", "1:1"):
        raise InvalidArgument(
            f"Simulated ranks are on one machine, got --nnodes {nodes}. Pass --nnodes 1, or leave it out."
        )


def _ranks(text: str) -> int:
    """Returns the number of ranks: torchrun accepts a number, or words for what the machine has."""
    if text in ("auto", "cpu"):
        return os.cpu_count() or 1
    try:
        return int(text)
    except ValueError as error:
        raise InvalidArgument(f"--nproc-per-node takes a number or cpu, got {text!r}. Pass for example 4.") from error


def _write(file: Path, text: str, option: str) -> None:
    try:
        file.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise InvalidArgument(f"{option}: {str(file)!r} was not written: {error.strerror}.") from error
