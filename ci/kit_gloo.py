"""The conformance kit on gloo in 2 and in 4 processes: with small sums folded in rank order, and with gloo's own.

    python3 ci/kit_gloo.py [--profile default]

What is examined are the group-calls of real processes, made by workers (`simstrategy_conformance.remote`).
Of gloo's own sums the quick profile, for nothing else is different. No exceptions are known.
"""

import sys

from evidence import COMMAND, ROOT, Evidence, arguments, output

FACTORIES = ROOT / "backends" / "torch" / "tests"


def conform(evidence, factory, profile):
    """Runs the kit on a factory of tests/remote_gloo.py, adds its table, and returns the exit code."""
    evidence.add(f"=== remote_gloo:{factory}, profile {profile}")
    code, table = output(
        [*COMMAND, "conform", f"remote_gloo:{factory}", "--profile", profile], folder=FACTORIES, errors=None
    )
    evidence.add(table)
    return code


def main():
    parser = arguments(__doc__)
    parser.add_argument("--profile", default="default")
    options = parser.parse_args()
    evidence = Evidence()
    codes = [conform(evidence, name, options.profile) for name in ("two_processes", "four_processes")]
    codes += [conform(evidence, name, "quick") for name in ("two_processes_unfolded", "four_processes_unfolded")]
    evidence.write(options.evidence)
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
