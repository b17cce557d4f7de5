"""Runs a file of programs on each number of replicas, and keeps the outcomes in a file: one process for each file.

python3 -m ci.campaigns.upstream.child FRONT FILE COUNTS ANSWER
"""

import importlib
import pickle
import sys
from pathlib import Path

__all__ = []


def main(front, file, counts, answer):
    made = importlib.import_module(f"ci.campaigns.upstream.front_{front}")
    found = []
    for outcome in made.outcomes(file, [int(count) for count in counts.split(",")]):
        found.append(outcome)
        Path(answer).write_bytes(pickle.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
