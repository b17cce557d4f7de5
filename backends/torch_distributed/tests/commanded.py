"""Runs a script by the command, in a process of its own."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import forks

LIMIT_S = 240.0


class Run(NamedTuple):
    """code: the exit code.  out, err: what was printed. report: the data of --json. folder: where the script is."""

    code: int
    out: str
    err: str
    report: dict
    folder: Path


def torchrun(
    folder: Path,
    text: str,
    *options: str,
    ranks: int = 4,
    name: str = "script.py",
    arguments: tuple[str, ...] = (),
    is_forked: bool = True,
) -> Run:
    """Runs the text of a script on simulated ranks.  is_forked: False for a command that is started as users do."""
    script, file = folder / name, folder / "report.json"
    script.write_text(text)
    given = ("--nproc-per-node", str(ranks), "--json", str(file), *options, str(script), *arguments)
    return _run(folder, file, *given, is_forked=is_forked)


def spawning(folder: Path, text: str, *arguments: str, options: Sequence[str] = ()) -> Run:
    """Runs the text of a script that spawns its ranks itself."""
    script = folder / "script.py"
    script.write_text(text)
    return _run(folder, folder / "report.json", "--spawned", *options, str(script), *arguments)


def _run(folder: Path, report: Path, *options: str, is_forked: bool = False) -> Run:
    if is_forked:
        ended = forks.torchrun(options, folder, LIMIT_S)
    else:
        command = [sys.executable, "-m", "simstrategy_torch_distributed", *options]
        ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    data = json.loads(report.read_text()) if report.exists() else {}
    return Run(ended.returncode, ended.stdout, ended.stderr, data, folder)
