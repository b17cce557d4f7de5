"""Breaks the code on purpose, once for each check, and demands that the check sees it.

A check that cannot fail is a defect. Every fault is planted in a copy of the repository; first each check
has to be clean on the unbroken copy.

    python3 ci/run.py deep red
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
CHECKS = {
    "ruff": [str(BIN / "ruff"), "check", "simstrategy", "ci"],
    "format": [str(BIN / "ruff"), "format", "--check", "simstrategy", "ci"],
    "mypy": [sys.executable, "-m", "mypy", "simstrategy"],
    "layers": [str(BIN / "lint-imports"), "--config", "ci/layers.ini"],
    "imports": [sys.executable, "-m", "ci.imports"],
    "tidy": [sys.executable, "-m", "ci.tidy"],
}


class Fault(NamedTuple):
    """What to add where, which check has to see it, and what it has to say."""

    check: str
    file: str
    text: str
    says: str


FAULTS = (
    Fault("ruff", "simstrategy/tree.py", "\nimport os\n", "E402"),
    Fault("ruff", "simstrategy/values.py", "\n\ndef undocumented():\n    print('x')\n", "T201"),
    Fault("format", "simstrategy/tree.py", "\nx   = 1\n", "would be reformatted"),
    Fault("mypy", "simstrategy/tree.py", "\nwrong: int = 'text'\n", "Incompatible types"),
    Fault("mypy", "simstrategy/run/status.py", "\n\ndef untyped(x):\n    return x\n", "no-untyped-def"),
    Fault(
        "layers",
        "simstrategy/tree.py",
        "\nfrom simstrategy.run import ReplicaTasks  # noqa\n",
        "packages of simstrategy",
    ),
    Fault("layers", "simstrategy/sim/backend.py", "\nfrom simstrategy.strategy import Strategy  # noqa\n", "simulat"),
    Fault("layers", "simstrategy/run/status.py", "\nimport jax  # noqa\n", "no framework"),
    Fault("layers", "simstrategy/strategy/enums.py", "\nimport simstrategy.strategy.group\n", "tables, the group"),
    Fault("layers", "simstrategy/data/nodes.py", "\nimport simstrategy.data.dataset\n", "data: rules"),
    Fault(
        "imports",
        "simstrategy/tree.py",
        "\ndef late():\n    import simstrategy.values  # noqa\n",
        "A circle of 2 files",
    ),
    Fault("tidy", "simstrategy/tree.py", "\nimport random  # noqa\n", "import of random"),
    Fault("tidy", "simstrategy/values.py", "\nimport threading  # noqa\n", "import of threading"),
    Fault("tidy", "simstrategy/tree.py", "\nNAMES = [name for name in {'b', 'a'}]\n", "iteration over a set"),
    Fault("tidy", "simstrategy/tree.py", "\nPLACE = hash('a')\n", "call of hash()"),
    Fault("tidy", "simstrategy/run/status.py", "\nPLACE = id(StatusMessage)\n", "use of id"),
    Fault("tidy", "simstrategy/tree.py", "\n# TO" + "DO: later\n", "does not belong on main"),
    Fault("tidy", "simstrategy/tree.py", "\n" * 330, "lines; 320 at most"),
    Fault("tidy", "simstrategy/tree.py", "\n\ndef long():\n" + "    x = 1\n" * 60, "50 at most"),
    Fault("tidy", "simstrategy/tree.py", "\n\ndef late():\n    import json\n", "import in a function"),
    Fault("tidy", "simstrategy/tree.py", "\nPART = hasattr(flatten, 'part')\n", "probe: hasattr"),
    Fault("tidy", "simstrategy/tree.py", "\nPART = getattr(flatten, 'part', None)\n", "probe: getattr"),
    Fault("tidy", "simstrategy/tree.py", "\nimport json\njson.dumps = None\n", "patch: json.dumps"),
    Fault("tidy", "simstrategy/tree.py", "\nIS_SIM = __name__ == 'sim'\n", "a backend's name compared"),
    Fault("tidy", "simstrategy/tree.py", "\nIS_INT = type(1).__name__ == 'int'\n", "recognised by its name"),
    Fault("tidy", "simstrategy/tree.py", "\n\ndef double(x: Array):\n    'Doubles x.'\n", "no shape in brackets"),
    Fault("tidy", "simstrategy/tree.py", "\n\ndef double(x):\n    'Double x.'\n", "in the third person"),
    Fault("tidy", "simstrategy/data/nodes.py", "\n# The node is told.\n", "the word 'told'"),
    Fault("tidy", "docs/semantics.md", "\n**Z-99** A clause without a test.\n", "no test that names it"),
    Fault("tidy", "docs/decisions/0001-the-device-layer.md", None, "needs the part"),
)


def run(check, folder):
    """Returns a check's exit code and all that it printed."""
    done = subprocess.run(
        CHECKS[check], cwd=folder, capture_output=True, text=True, check=False, env=_environment(folder)
    )
    return done.returncode, done.stdout + done.stderr


def _environment(folder):
    # The copy has to be found before the installed repository.
    return {"PATH": f"{BIN}:/usr/bin:/bin", "PYTHONPATH": str(folder), "HOME": str(folder)}


def main():
    with tempfile.TemporaryDirectory(prefix="simstrategy-red-") as name:
        folder = Path(name) / "copy"
        ignored = shutil.ignore_patterns(".venv", ".git", "__pycache__", ".*_cache")
        shutil.copytree(ROOT, folder, ignore=ignored)
        missed = []
        for check in CHECKS:
            code, output = run(check, folder)
            print(f"{check:7} clean on the unbroken copy: {code == 0}")
            missed += [] if code == 0 else [f"{check}:\n{output}"]
        for fault in FAULTS:
            path = folder / fault.file
            original = path.read_text(encoding="utf-8")
            broken = original.replace("## Context", "") if fault.text is None else original + fault.text
            path.write_text(broken, encoding="utf-8")
            code, output = run(fault.check, folder)
            path.write_text(original, encoding="utf-8")
            seen = code != 0 and fault.says in output
            print(f"{fault.check:7} sees {fault.says!r} in {fault.file}: {seen}")
            missed += [] if seen else [f"{fault.check} {fault.says!r}: exit code {code}\n{output[-600:]}"]
    print("\n".join(missed) if missed else f"red: all {len(FAULTS)} planted faults were seen")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
