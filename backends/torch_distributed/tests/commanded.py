"""Runs a script by the real command, in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

LIMIT_S = 240.0


class Run(NamedTuple):
    """code: the exit code.  out, err: what was printed. report: the data of --json. folder: where the script is."""

    code: int
    out: str
    err: str
    report: dict
    folder: Path


def torchrun(
    folder: Path, text: str, *options: str, ranks: int = 4, name: str = "script.py", arguments: tuple[str, ...] = ()
) -> Run:
    """Runs the text of a script on simulated ranks."""
    script, file = folder / name, folder / "report.json"
    script.write_text(text)
    command = [sys.executable, "-m", "simstrategy_torch_distributed", "--nproc-per-node", str(ranks)]
    command += ["--json", str(file), *options, str(script), *arguments]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    report = json.loads(file.read_text()) if file.exists() else {}
    return Run(ended.returncode, ended.stdout, ended.stderr, report, folder)
