"""The command `simstrategy torchrun`: torchrun's spelling, on simulated ranks."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from simstrategy.errors import InvalidArgument
from simstrategy_torch_distributed.running import run
from simstrategy_torch_distributed.settings import Settings

__all__ = ["torchrun"]


def torchrun(
    arguments: Annotated[list[str], typer.Argument(metavar="SCRIPT [ARGS]…", help="The script, and its arguments.")],
    nproc_per_node: Annotated[
        str, typer.Option("--nproc-per-node", "--nproc_per_node", help="The number of simulated ranks.")
    ] = "1",
    module: Annotated[bool, typer.Option("--module", "-m", help="SCRIPT is the name of a module.")] = False,
    order: Annotated[str, typer.Option(help="The order of additions: linear, ring or tree.")] = "linear",
    seed: Annotated[int, typer.Option(help="Chooses among senders, and seeds Python's and NumPy's generators.")] = 0,
    tee: Annotated[str | None, typer.Option(help="Show what all ranks print, as torchrun's --tee 3 does.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write the report to this file.")] = None,
    record: Annotated[Path | None, typer.Option(help="Write the completed calls of all ranks to this file.")] = None,
    busy_seconds: Annotated[
        float, typer.Option(help="Show the stacks of a rank that others have waited for so many seconds.")
    ] = 30.0,
    nnodes: Annotated[str, typer.Option("--nnodes", help="1; there is one machine.")] = "1",
    standalone: Annotated[bool, typer.Option("--standalone", help="Ignored: a run is always alone.")] = False,
    ignored: Annotated[
        list[str] | None,
        typer.Option(
            *(f"--{name}" for name in ("rdzv-backend", "rdzv-endpoint", "rdzv-id", "rdzv-conf", "master-addr")),
            *(f"--{name}" for name in ("rdzv_backend", "rdzv_endpoint", "rdzv_id", "rdzv_conf", "master_addr")),
            *("--master-port", "--master_port", "--max-restarts", "--max_restarts", "--monitor-interval"),
            *("--monitor_interval", "--start-method", "--start_method", "--node-rank", "--node_rank"),
            *("--log-dir", "--log_dir", "-r", "--redirects", "--role", "--local-addr", "--local_addr"),
            help="torchrun's, and ignored: they are about real processes on several machines.",
        ),
    ] = None,
) -> None:
    """Runs an unmodified torch.distributed script on simulated ranks of this machine and compares their calls.

    Ends with the script's own exit code, or with 1 and a text that names each rank and line where the ranks' calls do
    not agree. Rank 0 prints here; the others do with --tee.
    """
    if nnodes not in ("1", "1:1"):
        raise InvalidArgument(
            f"Simulated ranks are on one machine, got --nnodes {nnodes}. Pass --nnodes 1, or leave it out."
        )
    if ignored:
        typer.echo(f"simstrategy: ignored, because all ranks are simulated here: {', '.join(ignored)}", err=True)
    settings = Settings(
        arguments[0],
        tuple(arguments[1:]),
        ranks=_ranks(nproc_per_node),
        is_module=module,
        order=order,
        seed=seed,
        tee=tee not in (None, "0"),
        busy_s=busy_seconds,
        record=record is not None,
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
