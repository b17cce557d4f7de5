"""Runs the lawful scripts of the corpus on simulated ranks with each supported version of PyTorch.

    python3 ci/torch_versions.py [VERSION …] [--environment DIR] [--evidence FILE]

Each version is installed over the one before, in an environment over this one, which is removed afterwards unless it is
in DIR: where there is no build for CPUs, one takes 6 GB. A script is right where it prints what is recorded of gloo
(`on_torch.py`); where it does not, it runs with gloo of that version too, and is right where both end and print the
same.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from evidence import Evidence, arguments, output
from overlay import install, python_over

VERSIONS = ("2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0")
TWO_SIDES = "backends/torch_distributed/tests/two_sides.py"


def recorded(python):
    """Returns which scripts are right by what is recorded, by name, and the version, in words."""
    _, printed = output([python, "ci/on_torch.py"], errors=subprocess.STDOUT)
    version = re.search(r"^torch (\S+)$", printed, re.MULTILINE)
    rows = re.findall(r"^(\w+) +(NOT )?right(?:: (.*))?$", printed, re.MULTILINE)
    return {name: (not wrong, text) for name, wrong, text in rows}, version[1] if version else "unknown"


def as_gloo(python, names):
    """Returns which scripts end and print the same with gloo of the same version, by name, with the row of each.

    Where they do not, once more by whole lines: what gloo itself prints may stand inside a line of the script.
    """
    ours = f"{python} -m simstrategy_torch_distributed"
    found: dict[str, tuple[bool, str]] = {}
    for options in ([], ["--by-lines"]):
        left = [name for name in names if not found.get(name, (False,))[0]]
        if left:
            command = [python, TWO_SIDES, "compare", *options, "--ours", ours, *left]
            _, printed = output(command, errors=subprocess.STDOUT)
            rows = re.findall(r"^lawful/(\w+) +(NOT )?right  (.*)$", printed, re.MULTILINE)
            found |= {name: (not wrong, text) for name, wrong, text in rows}
    return found


def tried(version, python, evidence):
    """Adds the rows of one version."""
    problem = install(python, [f"torch=={version}"])
    if problem is not None:
        evidence.add(f"torch {version}: FAILED: {problem}")
        return
    found, shown = recorded(python)
    others = [name for name, (is_right, _) in found.items() if not is_right]
    again = as_gloo(python, others) if others else {}
    evidence.add(f"torch {shown}: {len(found) - len(others)} of {len(found)} scripts print what is recorded")
    if not found:
        evidence.add(f"torch {version}: FAILED: no script was run")
    for name in others:
        is_right, row = again.get(name, (False, found[name][1]))
        evidence.add(f"  {name}: {'as gloo of this version' if is_right else 'FAILED'}: {row}")


def main():
    parser = arguments(__doc__)
    parser.add_argument("versions", nargs="*", default=VERSIONS)
    parser.add_argument("--environment", type=Path)
    options = parser.parse_args()
    evidence = Evidence()
    with tempfile.TemporaryDirectory() as folder:
        python = python_over(options.environment or Path(folder) / "environment")
        for version in options.versions:
            tried(version, python, evidence)
    evidence.write(options.evidence)
    return evidence.exit_code


if __name__ == "__main__":
    sys.exit(main())
