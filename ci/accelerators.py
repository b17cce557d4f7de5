"""What checks on machines with accelerators have in common: commands under a hard limit, and what is installed."""

import os
import platform
import signal
import subprocess
from importlib.metadata import PackageNotFoundError, version

__all__ = ["ended", "versions"]


def ended(command, limit_s, *, folder, **settings):
    """Runs a command in a group of its own, killed at its limit; returns its code, or None, and its lines.

    The last lines are those of its output, or of its errors where it failed. settings: of the environment, beside what
    is there.
    """
    environment = {**os.environ, **settings}
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        try:
            told = process.communicate(timeout=limit_s)
            code = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            told = process.communicate()
            code = None
        except BaseException:  # interrupted: what holds the device must not go on
            os.killpg(process.pid, signal.SIGKILL)
            raise
    output, errors = [one.decode(errors="replace").strip().splitlines() for one in told]
    return code, errors + output if code == 0 else output + errors


def versions(*names):
    """Returns Python's version and those of packages, in words."""
    found = [f"Python {platform.python_version()}"]
    for name in names:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"no {name}")
    return ", ".join(found)
