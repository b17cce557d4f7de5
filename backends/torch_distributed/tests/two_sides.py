"""Runs the scripts of `scripts/` as torchrun runs them, with PyTorch's gloo and on simulated ranks, and compares.

python backends/torch_distributed/tests/two_sides.py compare [NAME …]    a table of both sides
python backends/torch_distributed/tests/two_sides.py record [NAME …]     writes what gloo did to scripts/answers.json

A name is that of a script or of a folder. `--ours COMMAND` is the command that stands before `--nproc-per-node`;
`--recorded` takes gloo's part from the answers, and starts no torchrun; `--by-lines` has torchrun show whole lines, and
compares them in any order; `--missing` records only what is not proven.
What is right is decided in `script_corpus.py`. Linux only: processes are found in /proc.
"""

import argparse
import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path

from script_corpus import LAWFUL, SCRIPTS, Mistake, Run, Script, mistakes, named, printed, scripts, verdict

ANSWERS = SCRIPTS / "answers.json"
GLOO = (sys.executable, "-m", "torch.distributed.run", "--standalone")
GLOO_BY_LINES = (*GLOO, "--tee", "1")
"""Shows whole lines, but ranks in any order: else what gloo itself prints may stand inside a line of the script."""
OURS = (str(Path(sys.executable).with_name("simstrategy")), "torchrun")
TEED = (*OURS, "--tee", "3")
"""As torchrun does, shows what all ranks print, with the rank before each line."""
SECONDS_TO_START = 120.0
SECONDS_OF_MISTAKE = 15.0
SECONDS_OF_LAWFUL = 120.0
_MARK = "SIMSTRATEGY_TWO_SIDES"


def launch(script: Script, launcher: Sequence[str]) -> list[str]:
    """Returns the command line of a script."""
    return ["nice", "-n", "1", *launcher, *ranks_and_target(script)]


def ranks_and_target(script: Script) -> list[str]:
    """Returns what follows the options of a launcher: the number of ranks, the script and its arguments."""
    target = ["-m", script.name] if script.is_module else [str(script.file)]
    return ["--nproc-per-node", str(script.ranks), *target, *script.arguments]


def without_rank(line: str) -> str:
    """Returns a line as the script printed it, which a launcher has shown with its rank."""
    return re.sub(r"^\[(rank\d+\]: |default\d+\]:)", "", line, count=1)


def run(script: Script, launcher: Sequence[str], limit: float, settings: Mapping[str, str] | None = None) -> Run:
    """Runs a script in an empty folder until it ends, or for `limit` seconds after its first output.

    It leaves no process of the script.
    """
    mark = uuid.uuid4().hex
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.monotonic()
        process = subprocess.Popen(
            launch(script, launcher),
            cwd=folder,
            env={**os.environ, **settings_of(script), _MARK: mark, **(settings or {})},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
        )
        first = _wait(process, out.fileno(), began, limit)
        ended, code = time.monotonic(), process.poll()
        _end_all(mark)
        process.wait()
        texts = [os.pread(one.fileno(), 10**7, 0).decode("utf-8", "replace") for one in (out, err)]
    lines = texts[0].splitlines()
    if "--tee" in launcher:
        lines = [without_rank(line) for line in lines]
    # What gloo itself prints in older versions of torch is no output of the script.
    lines = [line for line in lines if not line.startswith("[Gloo] Rank ")]
    return Run(code, tuple(lines), "".join(texts), ended - began, ended - first)


def settings_of(script: Script) -> dict[str, str]:
    """Returns variables of the environment; a module is found in its folder, as a script finds those beside it."""
    always = {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    path = os.pathsep.join([str(script.file.parent), os.environ.get("PYTHONPATH", "")])
    return {**always, "PYTHONPATH": path} if script.is_module else always


def _wait(process: subprocess.Popen[bytes], out: int, began: float, limit: float) -> float:
    """Waits until a process ends or is too late, and returns when its first output was there."""
    first = None
    while process.poll() is None:
        now = time.monotonic()
        if first is None and os.fstat(out).st_size:
            first = now
        if now > (began + SECONDS_TO_START if first is None else first + limit):
            break
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.02)
    return began if first is None else first


def _end_all(mark: str) -> None:
    """Kills the processes that a run left, in whatever group or session: they have its mark in their environment."""
    while True:
        left = list(_marked_processes(mark))
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        if not left:
            return


def _marked_processes(mark: str) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes():
                yield int(entry.name)


def summary(mistake: Mistake, one: Run) -> dict[str, object]:
    """Returns what is kept of a mistake's run: no times, no addresses."""
    errors = re.findall(r"^(?:\[rank\d+\]: *)?([\w.]*(?:Error|Exception)\b.*)$", one.text, re.MULTILINE)
    plain = [re.sub(r"0x[0-9a-f]+|\[?[\d.]+\]?:\d{4,5}\b|\S*/|pid: \d+", "…", error)[:300] for error in errors]
    ends = {"end": verdict(mistake, one), "code": one.code, "lines": list(one.lines)}
    places = "all" if named(mistake, one.text) == set(mistake.lines) else sorted(named(mistake, one.text))
    return {**ends, "places": places, "error": plain[0] if plain else ""}


def answers() -> dict[str, dict]:
    """Returns what gloo did, as recorded: by folder and name."""
    return json.loads(ANSWERS.read_text(encoding="utf-8")) if ANSWERS.exists() else {}


def record(names: Sequence[str], only_missing: bool) -> int:
    """Runs scripts with gloo, and writes after each.  A second call proves lawful ones: it has to find the same."""
    bad = 0
    for script in chosen(names):
        before = answers().get(script.folder, {}).get(script.name, {})
        before = before if before.get("source") == script.digest else {}
        if only_missing and before and before.get("runs", 2) >= 2:
            continue
        found = recorded_mistake(script) if script.folder == "mistakes" else recorded_lawful(script, before)
        bad += "problem" in found
        if "problem" not in found:
            _write(script, {"source": script.digest, **found})
        shown = {key: value for key, value in found.items() if key != "lines"}
        print(f"{script.folder}/{script.name}: {shown}", flush=True)
    return int(bad > 0)


def _write(script: Script, found: Mapping[str, object]) -> None:
    kept = {**answers(), "torch": metadata.version("torch")}
    kept.setdefault(script.folder, {})[script.name] = found
    ANSWERS.write_text(json.dumps(kept, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")


def recorded_lawful(script: Script, before: Mapping[str, object]) -> dict[str, object]:
    """Returns a lawful script's answer and how many runs gave it; "problem" if it failed or gave another one before."""
    one = run(script, GLOO, SECONDS_OF_LAWFUL)
    lines = printed(script, one.lines)
    if one.code != 0:
        return {"problem": f"exit code {one.code}: {one.text[-3000:]}"}
    if before and lines != before["lines"]:
        return {"problem": f"other lines than before: {lines} {before['lines']}"}
    return {"runs": before.get("runs", 0) + 1, "code": one.code, "lines": lines}


def recorded_mistake(script: Script) -> dict[str, object]:
    """Returns what gloo made of a mistake, alone and with TORCH_DISTRIBUTED_DEBUG=DETAIL."""
    mistake = next(one for one in mistakes() if one.script.name == script.name)
    debug = ("TORCH_DISTRIBUTED_DEBUG", "DETAIL")
    found = {
        "plain": run(script, GLOO, SECONDS_OF_MISTAKE),
        "detail": run(script, GLOO, SECONDS_OF_MISTAKE, dict([debug])),
    }
    return {mode: summary(mistake, one) for mode, one in found.items()}


def chosen(names: Sequence[str]) -> list[Script]:
    """Returns the scripts of the names of scripts and folders; all where there are none."""
    every = [script for folder in (*LAWFUL, "mistakes") for script in scripts(folder)]
    return [one for one in every if not names or {one.name, one.folder} & set(names)]


def compare(names: Sequence[str], ours: Sequence[str], gloo: Sequence[str] | None = GLOO) -> int:
    """Prints a row for each script; returns 1 if a lawful one differs or a mistake is not named at once, all ranks."""
    table = {one.script.name: one for one in mistakes()}
    right = []
    for script in chosen(names):
        answer = answers().get(script.folder, {}).get(script.name, {})
        if script.folder == "mistakes":
            text, is_right = mistake_row(table[script.name], answer, ours)
        else:
            text, is_right = lawful_row(script, answer, ours, gloo)
        right.append(is_right)
        print(f"{script.folder}/{script.name:28} {'' if is_right else 'NOT '}right  {text}", flush=True)
    print(f"{len(right)} scripts, {right.count(False)} not right")
    return int(not all(right))


def lawful_row(script: Script, answer: Mapping, ours: Sequence[str], gloo: Sequence[str] | None) -> tuple[str, bool]:
    """Returns a lawful script's row, and whether both sides printed and ended the same."""
    asked = script._replace(is_ordered=script.is_ordered and gloo != GLOO_BY_LINES)
    teed = ours if "--tee" in ours else [*ours, *TEED[len(OURS) :]]  # torchrun shows what all ranks print
    here = run(script, teed, SECONDS_OF_LAWFUL)
    there = run(script, gloo, SECONDS_OF_LAWFUL) if gloo else None
    code, lines = (there.code, printed(asked, there.lines)) if there else (answer.get("code"), answer.get("lines"))
    same = printed(asked, here.lines) == lines
    order = "" if asked == script else " in any order"
    ratio = f"{here.seconds / there.seconds:.2f} of its seconds" if there else f"{here.seconds:.1f} s"
    return (
        f"same lines{order} {'yes' if same else 'no'}, exit codes {code} and {here.code}, {ratio}",
        same and here.code == code,
    )


def mistake_row(mistake: Mistake, answer: Mapping, ours: Sequence[str]) -> tuple[str, bool]:
    """Returns a mistake's row: ours beside the recorded ends of gloo, and whether ours is right."""
    one = run(mistake.script, ours, SECONDS_OF_MISTAKE)
    end, places = verdict(mistake, one), named(mistake, one.text)
    missing = sorted(set(mistake.lines) - places)
    others = ", ".join(f"gloo {mode}: {answer[mode]['end']}" for mode in ("plain", "detail") if mode in answer)
    lines = f"lines not named of ranks {missing}" if missing else "all ranks' lines named"
    ends = ("named at once", "named late") if mistake.end == "stalled" else ("named at once",)
    return f"{end}, {lines}, exit code {one.code}, {one.after:.1f} s; {others}", end in ends and not missing


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("compare", "record"))
    parser.add_argument("names", nargs="*")
    parser.add_argument("--ours", default=shlex.join(OURS))
    side = parser.add_mutually_exclusive_group()
    side.add_argument("--recorded", action="store_true")
    side.add_argument("--by-lines", action="store_true")
    parser.add_argument("--missing", action="store_true")
    given = parser.parse_intermixed_args(arguments)
    if given.step == "record":
        return record(given.names, given.missing)
    gloo = None if given.recorded else GLOO_BY_LINES if given.by_lines else GLOO
    return compare(given.names, shlex.split(given.ours), gloo)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
