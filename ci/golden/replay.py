"""Replays one file of recorded answers on one backend and compares to the bit.

    python3 ci/run.py golden-replay FILE [--backend NAME] [--semantics PROFILE] [--deviations FILE]

All there is stands in `golden_replay`, beside this file; no distribution contains it.
"""

from golden_replay.command import app

if __name__ == "__main__":
    app()
