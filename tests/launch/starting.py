"""Started as a process of its own by the launcher's tests, which end it in one way or another.

    python starting.py [stopped]

Prints the process ids and the folder, and waits in a job that never ends.
"""

import json
import signal
import sys
from pathlib import Path

from simstrategy.launch import Launcher

JOBS = f"{Path(__file__).parent / 'jobs.py'}"


def main() -> None:
    # A background process ignores SIGINT, and its children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with Launcher(2) as launcher:
        own = [number for one in launcher.run(f"{JOBS}:starts_everything") for number in one.value]
        started = {"processes": [*launcher.processes, *own], "folder": str(launcher.folder)}
        sys.stdout.write(json.dumps(started) + "\n")
        sys.stdout.flush()
        launcher.run(f"{JOBS}:{'stops_itself' if sys.argv[1:] else 'waits'}", timeout_s=1000.0)


if __name__ == "__main__":
    main()
