"""`python -m simstrategy_tf_distribute PROGRAM.py`: does a Keras program agree with itself on 1, 2 and 4 replicas?"""

import argparse
import runpy
import sys
from collections.abc import Sequence

from simstrategy.errors import SimStrategyError
from simstrategy_tf_distribute.agreement import replicas_agree


def main(arguments: Sequence[str]) -> int:
    """Returns 0 if all numbers of replicas agree, 1 if not, 2 for what cannot be asked."""
    parser = argparse.ArgumentParser(prog="python -m simstrategy_tf_distribute", description=__doc__)
    parser.add_argument("program", help="a Python file with program(strategy), which returns weights or a history")
    parser.add_argument("--replicas", default="1,2,4", help="numbers of replicas, the first is compared with")
    given = parser.parse_args(arguments)
    try:
        counts = [int(one) for one in given.replicas.split(",")]
        program = runpy.run_path(given.program).get("program")
    except (ValueError, OSError) as error:
        sys.stderr.write(f"{error}. Give a file, and numbers such as --replicas 1,2,4.\n")
        return 2
    if not callable(program):
        sys.stderr.write(f"{given.program} has no function program(strategy).\n")
        return 2
    try:
        agreement = replicas_agree(program, replicas=counts)
    except SimStrategyError as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 1
    sys.stdout.write(f"{agreement}\n")
    return 0 if agreement else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
