"""Examines every animal of the zoo by every test of the kit, and every sound variant too: who is caught by what.

    python tests/zoo/zoo_matrix.py [examples of each property, 40 by default]

Ends with exit code 1 if an animal lives, is not caught by the clause that it breaks, or a sound variant is caught;
and unless at least 15 animals pass every test but one.
"""

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import zoo_collectives
import zoo_functions
import zoo_places
import zoo_strategies
from zoo_animals import failure_apart, subject_with, zoo_keeper
from zoo_sound import SOUND

from simstrategy_conformance.index import entries
from simstrategy_conformance.profiles import Profile

GROUPS = (zoo_places, zoo_collectives, zoo_functions, zoo_strategies)
ALONE_MIN = 15


def caught_by(subject):
    """Returns the kit's tests that a subject fails."""
    found = [entry.name for entry in entries() if failure_apart(entry, subject) is not None]
    subject.close()
    return found


def main(examples="40"):
    profile = Profile("matrix", int(examples), replicas_max=4, shrink=False)
    wrong, alone = [], 0
    for animal in zoo_keeper.animals:
        caught = caught_by(animal.subject(profile))
        alone += caught == [animal.test]
        wrong += [] if animal.test in caught else [animal.name]
        told = "its own" if animal.test in caught else "NOT ITS OWN"
        print(f"{animal.clause:5} {animal.name}: {len(caught)} tests, {told}")
        print("".join(f"      {one}\n" for one in caught if one != animal.test), end="")
    for called, opens in SOUND.items():
        caught = caught_by(subject_with(called, opens, profile))
        wrong += [called] if caught else []
        print(f"sound {called}: {', '.join(caught) or 'passes'}")
    most = Counter(animal.clause for animal in zoo_keeper.animals).most_common(1)[0][1]
    told = f"{len(zoo_keeper.animals)} animals in {len(GROUPS)} groups, at most {most} a clause"
    print(f"{told}; {len(SOUND)} sound variants")
    print(f"{alone} animals pass every test but one; wrong: {', '.join(wrong) or 'none'}")
    return 1 if wrong or alone < ALONE_MIN else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
