"""Runs every notebook of the repository in a kernel, and compares what its cells show with what the file has.

    python3 ci/run.py notebooks [--write]

`--write` keeps the new outputs in the files, for viewers without a kernel. They have no times and no paths, so the same
cells show the same.
"""

import difflib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import nbclient
import nbformat

ROOT = Path(__file__).resolve().parents[1]
_SECONDS_OF_A_CELL: Final = 120
_KERNEL: Final = "python3"


def main(options: list[str]) -> int:
    if options not in ([], ["--write"]):
        print("usage: python3 ci/run.py notebooks [--write]", file=sys.stderr)
        return 2
    failed = 0
    for file in notebooks():
        made = executed(file)
        if options:
            nbformat.write(made, file)
            print(f"{file.relative_to(ROOT)}: written")
            continue
        differences = list(difference(file, made))
        failed += bool(differences)
        print(f"{file.relative_to(ROOT)}: {'shows other outputs' if differences else 'shows what it has'}")
        print("".join(differences), end="", file=sys.stderr)
    return 1 if failed else 0


def notebooks() -> list[Path]:
    """Returns all notebooks that git knows."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.ipynb"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in sorted(listed.split("\0")) if name]


def executed(file: Path) -> Any:
    """Returns a notebook with the outputs of a run.  Raises CellExecutionError for an error that no tag expects."""
    notebook = nbformat.read(file, as_version=4)
    client = nbclient.NotebookClient(
        notebook,
        timeout=_SECONDS_OF_A_CELL,
        kernel_name=_KERNEL,
        record_timing=False,
        resources={"metadata": {"path": str(ROOT)}},
    )
    client.execute()
    notebook.metadata.pop("language_info", None)  # has the version of Python
    return notebook


def difference(file: Path, made: Any) -> Iterator[str]:
    """Yields the lines in which the outputs of a run differ from those of the file."""
    sides = [_outputs(notebook) for notebook in (nbformat.read(file, as_version=4), made)]
    yield from difflib.unified_diff(*sides, "in the file", "in this run")


def _outputs(notebook: Any) -> list[str]:
    """Returns the outputs of each cell as lines of text."""
    lines = []
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "code":
            lines.append(f"cell {number}\n")
            lines += [
                f"{line}\n" for one in cell.outputs for line in json.dumps(one, indent=1, sort_keys=True).splitlines()
            ]
    return lines


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
