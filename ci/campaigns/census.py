"""What the generator's programs are made of: how many contain each construct, and how often replicas meet in them.

python3 ci/campaigns/census.py [--programs N] [--seed 0]
"""

import argparse
import statistics
import sys
import time
from collections import Counter

from campaign import different

from simstrategy_conformance.coverage import CONSTRUCTS, collectives_of, constructs_of, replicas_and_numbers
from simstrategy_conformance.script import script_text

LEAST, MEDIAN, LINES = 0.05, 4, 25


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    began = time.monotonic()
    many = different(f"census/{given.seed}", given.programs)
    words = Counter(word for program in many for word in constructs_of(program))
    print(f"{len(many)} different programs of the default grammar, seed {given.seed}")
    for word in CONSTRUCTS:
        print(f"  {word:<28} {words[word]:>6} {words[word] / len(many):>6.1%}")
    met = [collectives_of(program) for program in many]
    longest = max(len(script_text(program, "tensorflow", program.draws).splitlines()) for program in many)
    replicas, numbers = zip(*map(replicas_and_numbers, many), strict=True)
    print(f"collectives: median {statistics.median(met):g}, at most {max(met)}")
    print(f"replicas: at most {max(replicas)}; numbers: median {statistics.median(numbers):g}, at most {max(numbers)}")
    print(f"lines of a script: at most {longest}; {time.monotonic() - began:.0f} s of wall time")
    wrong = [f"{word} is rarer than {LEAST:.0%}" for word in CONSTRUCTS if words[word] < LEAST * len(many)]
    wrong += [f"the median of collectives is under {MEDIAN}"] if statistics.median(met) < MEDIAN else []
    wrong += [f"a script is longer than {LINES} lines"] if longest > LINES else []
    print("\n".join(wrong) or f"every construct is in {LEAST:.0%} of programs or more")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
