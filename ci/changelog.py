"""Assembles CHANGELOG.md from the fragments in changelog.d/.

    python3 ci/run.py changelog

A fragment is a file NAME.KIND.md, one of KINDS, with one item or several: "- " begins an item, two blanks go on with
it. The part "Unreleased" is written anew from all of them; what stands below it, released versions, stays.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KINDS = ("added", "changed", "removed", "fixed")
HEAD = "# Changelog\n\n## Unreleased\n"


def fragments(folder):
    """Returns the items of all fragments by kind, in the order of the files' names.

    Raises ValueError for a file of another name, or with a line that belongs to no item.
    """
    found = {kind: [] for kind in KINDS}
    for file in sorted(folder.iterdir()):
        name = re.fullmatch(r"[a-z0-9.-]+\.([a-z]+)\.md", file.name)
        if name is None or name[1] not in KINDS:
            raise ValueError(f"{file.name} is no fragment: name it NAME.KIND.md, with a kind of {', '.join(KINDS)}")
        lines = file.read_text(encoding="utf-8").rstrip("\n").splitlines()
        wrong = [n for n, line in enumerate(lines, 1) if not line.startswith(("- ", "  ") if n > 1 else "- ")]
        if wrong or not lines:
            raise ValueError(f"{file.name}:{(wrong or [1])[0]}: begin an item with '- ', and go on with two blanks")
        found[name[1]] += lines
    return found


def assembled(folder, before=""):
    """Returns the text of the changelog.  before: its present text, of which the released versions are kept."""
    parts = [f"### {kind.capitalize()}\n\n" + "\n".join(lines) for kind, lines in fragments(folder).items() if lines]
    released = re.search(r"^## (?!Unreleased).*", before, re.MULTILINE | re.DOTALL)
    return "\n\n".join([HEAD.rstrip("\n"), *parts, *([released[0].rstrip("\n")] if released else [])]) + "\n"


def main():
    file = ROOT / "CHANGELOG.md"
    file.write_text(assembled(ROOT / "changelog.d", file.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
