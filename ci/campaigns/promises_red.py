"""Each promise that was broken, on the tree before and on this one: wrong there, kept here.

The programs are those of `misuses/promises.toml` and `misuses/red.toml`. Each runs in a process of its own, with the
sources of one commit first on its path and this environment's packages.

    python3 ci/campaigns/promises_red.py [LETTER …] [--commit 3bc6e2c] [--limits 1]
"""

import argparse
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from misuse import FOLDER, HEAD
from promises import promises

ROOT = FOLDER.parents[2]
BEFORE = "3bc6e2c"
"""The commit that was attacked."""
_TAIL = """

if __name__ == "__main__":
    name, _, executor = "SIDE".partition(" ")
    settings = {"executor": "thread"} if executor else {}
    error = None
    try:
        program(ss.Strategy.mirrored(name, replicas=2, **settings), {})
    except Exception as raised:
        error = raised
    if "EXPECTS" == "returns" and error is not None:
        raise error
    if "EXPECTS" == "refused" and error is None:
        sys.exit("taken, in place of ERROR")
    if "EXPECTS" == "refused" and "ERROR" not in ("an error", type(error).__name__):
        sys.exit(f"{type(error).__name__}: {error}, in place of ERROR")
"""


class Shown(NamedTuple):
    """A program that shows a promise.  reason: why there is none."""

    letter: str
    name: str
    text: str
    limit_s: float
    reason: str = ""


def shown() -> list[Shown]:
    """Returns the programs in the order of their letters.  Raises KeyError for a table without one."""
    found = []
    for one in tomllib.loads((FOLDER / "red.toml").read_text(encoding="utf-8"))["red"]:
        letter, limit_s = one["letter"], one.get("limit_s", 60.0)
        if "reason" in one:
            found.append(Shown(letter, "", "", limit_s, one["reason"]))
        elif "text" in one:
            found.append(Shown(letter, "", f'"""{letter}."""\n\n{HEAD}{one["text"]}', limit_s))
        elif "like" in one:
            text = next(each.text for each in found if each.letter == one["like"])
            for old, new in one["replaces"]:
                text = text.replace(old, new)
            found.append(Shown(letter, "", text, limit_s))
        else:
            for promise in (each for each in promises() if each.letter == letter):
                for side in one["promise"]:
                    tail = _TAIL.replace("SIDE", side).replace("EXPECTS", promise.expects)
                    tail = tail.replace("ERROR", promise.error or "an error")
                    found.append(Shown(letter, f"{promise.name}, {side}", promise.text + tail, limit_s))
    return found


def ended(tree: Path, one: Shown, folder: Path) -> str:
    """Returns what is wrong with a program on a tree, in a line; "" for nothing."""
    file = folder / f"{one.letter.lower()}_program.py"
    file.write_text(one.text, encoding="utf-8")
    parts = [tree, tree / "property_tests", *sorted(path for path in (tree / "backends").iterdir() if path.is_dir())]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, parts)),
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "JAX_PLATFORMS": "cpu",
        "CUDA_VISIBLE_DEVICES": "",
        "COLUMNS": "120",
    }
    with subprocess.Popen(
        [sys.executable, file.name],
        cwd=folder,
        env=environment,
        start_new_session=True,
        text=True,
        errors="replace",
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            errors = process.communicate(timeout=one.limit_s)[1]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return f"hangs: it has not ended within {one.limit_s:g} s"
    if process.returncode == 0:
        return ""
    lines = [line for line in errors.splitlines() if line.strip()]
    last = next((line for line in reversed(lines) if not line.startswith((" ", "In replica"))), "")
    return f"{last[:150]} (exit code {process.returncode})"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("letters", nargs="*", help="those alone")
    parser.add_argument("--commit", default=BEFORE, help="of the tree before")
    parser.add_argument("--limits", type=float, default=1.0, help="so many times as long, on a machine that is busy")
    options = parser.parse_args(arguments)
    programs = [one for one in shown() if not options.letters or one.letter in options.letters]
    programs = [one._replace(limit_s=one.limit_s * options.limits) for one in programs]
    failed, red, letters = [], set(), {one.letter for one in programs}
    with tempfile.TemporaryDirectory(prefix="simstrategy-red-") as name:
        before = Path(name) / "before"
        packed = subprocess.run(["git", "archive", options.commit], cwd=ROOT, capture_output=True, check=True).stdout
        with tarfile.open(fileobj=BytesIO(packed)) as archive:
            archive.extractall(before, filter="data")
        for number, one in enumerate(programs):
            title = f"{one.letter}{f' ({one.name})' if one.name else ''}"
            if one.reason:
                print(f"{title}: not run: {one.reason}", flush=True)
                continue
            folders = [Path(name) / f"{number}{tree}" for tree in ("before", "now")]
            found = []
            for tree, folder in zip((before, ROOT), folders, strict=True):
                folder.mkdir()
                found.append(ended(tree, one, folder))
            red |= {one.letter} if found[0] else set()
            print(f"{title}\n    at {options.commit}: {found[0] or 'kept'}\n    now: {found[1] or 'kept'}", flush=True)
            failed += [one.letter] if found[1] else []
    skipped = {one.letter for one in programs if one.reason}
    never = sorted(letters - red - skipped)
    print(f"\n{len(letters)} promises: {len(red)} seen broken at {options.commit}, {len(skipped)} without a program")
    print(
        f"not seen broken there: {', '.join(never) or 'none'}; broken now: {', '.join(sorted(set(failed))) or 'none'}"
    )
    return 1 if failed or never else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
