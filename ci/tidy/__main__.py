"""Prints one line per violation as file:line, and ends with exit code 1 if there is one.

python -m ci.tidy             what `ci/run.py tidy` does
python -m ci.tidy words DIR   every word of the glossary's table in a folder where it is only counted
"""

import sys
from pathlib import Path

from ci.tidy.repository import check_repository
from ci.tidy.words import tally


def main(arguments: list[str]) -> int:
    found = check_repository(Path(__file__).resolve().parents[2])
    match arguments:
        case ["words", folder]:
            print(*(one for one in found.words if one.file.startswith(folder)), sep="\n")
    if found.violations:
        print(*found.violations, sep="\n")
    if found.words:
        print(f"words of the glossary's table where they are only counted: {tally(found.words)}")
    print(f"tidy: {len(found.violations)} violations" if found.violations else "tidy: clean")
    return 1 if found.violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
