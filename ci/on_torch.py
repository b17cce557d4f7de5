"""Runs the lawful scripts of the corpus on simulated ranks of this environment's torch, and prints a row for each.

    python ci/on_torch.py

All run from one forkserver, so torch is imported once. A script is right where it ends with exit code 0 and prints what
is recorded of gloo. `torch_versions.py` calls it in environments with other versions.
"""

import contextlib
import io
import os
import re
import sys
import tempfile
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "backends" / "torch_distributed" / "tests"))

import two_sides
from script_corpus import printed, scripts

from simstrategy_torch_distributed.running import run_on, started
from simstrategy_torch_distributed.settings import Settings

TESTS = Path(two_sides.__file__).parent


def tried(server, script):
    """Returns whether a script is right, and what is to be shown of it if not."""
    target = script.name if script.is_module else str(script.file)
    settings = Settings(target, script.arguments, ranks=script.ranks, is_module=script.is_module, tee=True)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as out:
        os.chdir(script.file.parent if script.is_module else folder)
        try:
            report = run_on([server], settings)
        finally:
            os.chdir(TESTS)
    lines = [re.sub(r"^\[rank\d+\]: ", "", line, count=1) for line in out.getvalue().splitlines()]
    answer = two_sides.answers()[script.folder][script.name]["lines"]
    found = printed(script, lines)
    differ = [f"{one!r} is not {other!r}" for one, other in zip(found, answer, strict=False) if one != other]
    problems = [report.text()] if report.exit_code else differ or (["other lines"] if found != answer else [])
    return not problems, problems[0].replace("\n", " | ")[:400] if problems else ""


def main():
    print(f"torch {torch.__version__}", flush=True)
    server = started()
    try:
        for script in scripts("lawful"):
            is_right, text = tried(server, script)
            print(f"{script.name:24} {'right' if is_right else f'NOT right: {text}'}", flush=True)
    finally:
        server.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
