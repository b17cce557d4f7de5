"""Every fault at every synchronisation point of every replica of the digits example, with 2, 3 and 4 replicas.

The example is shortened to one epoch of its first 133 images: batches of 64, 64 and 5, so that the last one is uneven,
and with 4 replicas two parts have one image. Both models run; each write of a variable is a point.

    python3 ci/campaigns/faults.py [--images 133] [--replicas 2,3,4]
"""

import argparse
import sys
import time
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from simstrategy.check.laws.faults import faults_of
from simstrategy.check.programs import load_program
from simstrategy.check.study import Settings, Study
from simstrategy.schedules import InOrder
from simstrategy.strategy import Semantics

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "train_digits.py"


def shortened(count):
    """Returns the program of the digits example on its first images, in one epoch."""
    program = load_program(DIGITS)
    module = program.__globals__
    images, labels = module["images_and_labels"]()
    module["images_and_labels"] = lambda: (images[:count], labels[:count])
    module["EPOCHS"] = 1
    return program


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=133)
    parser.add_argument("--replicas", default="2,3,4")
    given = parser.parse_args(arguments)
    replicas = [int(word) for word in given.replicas.split(",")]
    settings = Settings(Semantics.TF1_15, 600.0, allow_errors=False)
    began, wrong = time.perf_counter(), 0
    print(f"{DIGITS.name}, one epoch of {given.images} images", flush=True)
    with closing(Study(shortened(given.images), ["sim"], replicas, (), [InOrder], settings)) as study:
        for row in faults_of(study, None):
            _, _, count, what, values, _ = row.cells()
            print(f"{count:6} replicas  {what:58} {values}", flush=True)
            problem = row.problem or row.undecided
            wrong += problem is not None
            print(f"        {problem}" if problem else "", end="\n" if problem else "")
    print(f"{wrong} of the rows break the law; {time.perf_counter() - began:.0f} s", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
