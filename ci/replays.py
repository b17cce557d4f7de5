"""Recorded answers of real TensorFlow on every backend and profile, as one table; exit code 1 if any differs.

    python3 ci/replays.py [BACKEND …]

Each replay is a process of its own: `ci/golden/replay.py` with one file.
"""

import subprocess
import sys

from evidence import ROOT, output

GOLDEN = ROOT / "tests" / "golden"
BACKENDS = ("sim", "tensorflow", "torch", "xla")
PROFILES = ("TF1_13", "TF1_15", "TF2")
SETTINGS = {"JAX_ENABLE_X64": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
"""XLA can hold the 64-bit cases only with 64-bit numbers switched on."""
RELEASES = {"TF1_13": "1.13.2", "TF1_15": "1.15.5", "TF2": "2.21.0"}


def replay(file, backend, profile):
    """Returns the exit code and what was printed."""
    command = [sys.executable, "ci/golden/replay.py", str(file), "--backend", backend]
    command += ["--semantics", profile, "--deviations", str(GOLDEN / "deviations.toml")]
    code, printed = output(command, errors=subprocess.PIPE, **SETTINGS)
    return code, printed.strip()


def main(backends):
    failed = 0
    titles = f"{'file':18}{'backend':12}{'profile':9}"
    print(f"{titles}{'cases':>7}{'agree':>7}{'deviations':>12}{'differ':>8}{'not built':>11}")
    for file in sorted(GOLDEN.glob("*.jsonl")):
        text = file.read_text(encoding="utf-8")
        for profile in PROFILES:
            if f'"{RELEASES[profile]}":' not in text:
                continue
            for backend in backends:
                code, printed = replay(file, backend, profile)
                failed += code != 0
                rows = [line.split() for line in printed.splitlines() if line.split()[:1] == ["all"]]
                if not rows:
                    print(f"{file.name:18}{backend:12}{profile:9} could not be replayed (exit code {code}):\n{printed}")
                    continue
                cases, agree, deviations, differ, absent = rows[0][1:]
                counts = f"{cases:>7}{agree:>7}{deviations:>12}{differ:>8}{absent:>11}"
                print(f"{file.name:18}{backend:12}{profile:9}{counts}", flush=True)
                if code:
                    print(printed)
    print("Everything agrees but for what is listed." if not failed else f"{failed} replays did not agree.")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or BACKENDS))
