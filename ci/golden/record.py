"""Asks real TensorFlow the recorded cases again, or records what it answers to new ones.

    python3 ci/run.py golden-record [--release RELEASE]... [--write] [FILE]...

Without files: every file of cases in tests/golden and below. Each case is put to the releases that have answered it, in
a process of their own. `--write` writes answers that are new or have changed; what has not changed stays to the letter,
and what DRAWN names is drawn anew first. Exit code 0: all as recorded, or written, or the release is
not to be had here; 1: some differ; 2: a release could not be asked. It does not ask whether we agree.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import conversions
import estimator_cases
import probes
import processor
from arrays import difference
from environments import PACKAGES, ROOT, Missing, python_for

RECORDED = ROOT / "tests" / "golden"
DRAWN = {
    "conversions.jsonl": conversions,
    "probes.jsonl": probes,
    "processor.jsonl": processor,
    "estimator.jsonl": estimator_cases,
}
SHOWN = 10

Line = dict[str, Any]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="ci/run.py golden-record", description="Asks real TensorFlow.")
    parser.add_argument("--release", action="append", choices=sorted(PACKAGES), help="only this one; may be repeated")
    parser.add_argument("--write", action="store_true", help="write what is new or has changed")
    parser.add_argument("files", nargs="*", type=Path, default=sorted(RECORDED.rglob("*.jsonl")))
    options = parser.parse_args(arguments)
    missing = [str(file) for file in options.files if not file.is_file() and not (options.write and file.name in DRAWN)]
    if missing or not options.files:
        print(f"There is no file {', '.join(missing) or 'of cases'}.", file=sys.stderr)
        return 2
    return max(_file(file, options) for file in options.files)


def _file(file: Path, options: argparse.Namespace) -> int:
    """Asks every release for one file's answers, and returns an exit code."""
    lines = read(file, fresh=options.write)
    failed = max(_one(file, lines, release, options.write) for release in options.release or sorted(PACKAGES))
    return write(file, lines) if options.write and not failed else failed


def write(file: Path, lines: list[Line]) -> int:
    """Writes the lines, the answers that are still missing left out, and returns an exit code."""
    known = [{**line, "answers": {key: value for key, value in line["answers"].items() if value}} for line in lines]
    unanswered = [line["case"]["id"] for line in known if not line["answers"]]
    if unanswered:
        ids = f"{unanswered[0]} and {len(unanswered) - 1} more"
        print(f"{file.name} was not written: no release answered {ids}. Ask 2.21.0 as well.", file=sys.stderr)
        return 2
    # In one step, so that an interruption leaves the old file.
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(".new")
    new.write_text("".join(json.dumps(line) + "\n" for line in known), encoding="utf-8")
    new.replace(file)
    return 0


def read(file: Path, *, fresh: bool) -> list[Line]:
    """Returns a file's lines; where they are drawn, fresh ones keep the answers to cases that have stayed the same."""
    lines = _lines(file) if file.exists() else []
    if not fresh or file.name not in DRAWN:
        return lines
    known = {line["case"]["id"]: line for line in lines}
    drawn = []
    for case in DRAWN[file.name].draw():
        old = known.get(case["id"], {})
        kept = old["answers"] if old.get("case") == case else {}
        drawn.append({"case": case, "answers": {one: kept.get(one) for one in DRAWN[file.name].releases_of(case)}})
    return drawn


def _lines(file: Path) -> list[Line]:
    lines = []
    for number, text in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        try:
            line = json.loads(text)
            whole = isinstance(line["case"]["id"], str) and isinstance(line["case"]["kind"], str) and line["answers"]
        except (ValueError, KeyError, TypeError):
            whole = False
        if not whole:
            raise SystemExit(f"{file}:{number}: this is no case with its answers. The file is damaged: get it anew.")
        lines.append(line)
    return lines


def _one(file: Path, lines: list[Line], release: str, writing: bool) -> int:
    """Asks one release, says what came of it, and returns an exit code; when writing, the lines take the answers."""
    asked = [line for line in lines if release in line["answers"]]
    if not asked:
        return 0
    try:
        answers = ask(release, [line["case"] for line in asked])
    except Missing as why:
        print(f"{file.name}: TensorFlow {release} was not asked: {why} The recorded answers stay as they are.")
        return 0
    except RuntimeError as why:
        print(f"{file.name}: {why}", file=sys.stderr)
        return 2
    new = [line for line in asked if line["answers"][release] is None]
    differing = []
    for line in asked:
        given = answers[line["case"]["id"]]
        text = difference(line["answers"][release], given)
        differing += [(line["case"], text)] if text and line not in new else []
        if text and writing:
            line["answers"][release] = given
    same = len(asked) - len(new) - len(differing)
    print(f"{file.name}: TensorFlow {release}: {len(asked)} asked, {same} as recorded, {len(new)} new", flush=True)
    for case, text in differing[:SHOWN]:
        print(f"  {case['kind']} {case['id']}: {text[:400]}")
    if len(differing) > SHOWN:
        print(f"  … and {len(differing) - SHOWN} more")
    return 1 if differing and not writing else 0


def ask(release: str, cases: list[Line]) -> dict[str, Any]:
    """Returns a release's answers by case id. Raises Missing, and RuntimeError where its process did not finish."""
    python = python_for(release)
    with tempfile.TemporaryDirectory() as folder:
        given, told = Path(folder) / "cases.jsonl", Path(folder) / "answers.jsonl"
        given.write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
        command = [str(python), str(Path(__file__).with_name("ask.py")), str(given), str(told)]
        # Without GPUs and without notes to the console, wherever it runs.
        settings = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": ""}
        done = subprocess.run(command, env=settings, stderr=subprocess.PIPE, text=True, check=False)
        lines = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
        answers = [json.loads(line) for line in lines]
    if done.returncode or len(answers) != len(cases):
        where = f"at case {cases[len(answers)]['id']}" if len(answers) < len(cases) else "at its end"
        last = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        raise RuntimeError(f"TensorFlow {release} ended with exit code {done.returncode} {where}; it said: {last}")
    others = sorted({answer["release"] for answer in answers} - {release})
    if others:
        raise RuntimeError(f"{python} has TensorFlow {', '.join(others)}, not {release}")
    return {answer["id"]: answer["answer"] for answer in answers}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
