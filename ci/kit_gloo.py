"""The conformance kit on gloo in 2 and in 4 processes: with small sums folded in rank order, and with gloo's own.

    python3 ci/kit_gloo.py [--profile default]

What is examined are the group-calls of real processes, made by workers (`simstrategy_conformance.remote`).
Of gloo's own sums the quick profile, for nothing else is different. No exceptions are known.
"""

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FACTORIES = ROOT / "backends" / "torch" / "tests"


def conform(factory, profile):
    """Runs the kit on a factory of tests/remote_gloo.py; prints its table and returns the exit code."""
    print(f"=== remote_gloo:{factory}, profile {profile}", flush=True)
    command = [
        str(Path(sys.executable).with_name("simstrategy")),
        "conform",
        f"remote_gloo:{factory}",
        "--profile",
        profile,
    ]
    return subprocess.run(command, cwd=FACTORIES, check=False).returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", default="default")
    options = parser.parse_args()
    codes = [conform(name, options.profile) for name in ("two_processes", "four_processes")]
    codes += [conform(name, "quick") for name in ("two_processes_unfolded", "four_processes_unfolded")]
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
