"""Runs the judge on all programs of this folder and prints a line for each: what it answered, and what is not right.

python tests/judging/judged_table.py [NAME …]
"""

import sys
import tempfile
import time
from pathlib import Path

from corpus import lawful, repaired, wrong
from judge_adapter import accusations, faults, judged, why_not

from simstrategy.check.programs import load_program


def rows(names, folder):
    """Yields name, program, and a function that returns what is not right in an answer."""
    for row in wrong():
        if not names or row.name in names:
            yield row.name, row.program, lambda answer, row=row: faults(row, answer)
            file = repaired(row, folder)
            yield f"{row.name}, repaired", load_program(file), lambda answer: accusations(["agree"], answer)
    for row in lawful():
        if not names or row.name in names:
            yield row.name, row.program, lambda answer, row=row: accusations(row.verdicts, answer)


def main(names):
    reason = why_not()
    if reason is not None:
        print(f"not judged: {reason}")
        return 2
    bad = total = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, program, examine in rows(names, Path(folder)):
            began = time.monotonic()
            answer = judged(program)
            problems = examine(answer)
            first = next(iter(answer.of_replicas), None)
            found = f"{first.kind}, step {first.step}, {first.variable or '-'}, line {first.line}" if first else ""
            seconds = time.monotonic() - began
            print(f"{name:50} {seconds:4.1f} s  {answer.verdict:9} {found}", *(f"WRONG: {one}" for one in problems))
            bad, total = bad + bool(problems), total + 1
    print(f"{total} programs, {bad} with an answer that is not right")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
