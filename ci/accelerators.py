"""What checks on machines with accelerators have in common: commands under a hard limit, and what is installed."""

import os
import platform
import signal
import subprocess
from importlib.metadata import PackageNotFoundError, version

__all__ = ["ended", "versions"]


def ended(command, limit_s, *, folder, **settings):
    """Runs a command in a group of its own, killed at its limit; returns its code, or None, and its lines.

    settings: of the environment, beside what is there.
    """
    environment = {**os.environ, **settings}
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    ) as process:
        try:
            told, _ = process.communicate(timeout=limit_s)
            code = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            told, _ = process.communicate()
            code = None
    return code, told.decode(errors="replace").strip().splitlines()


def versions(*names):
    """Returns Python's version and those of packages, in words."""
    found = [f"Python {platform.python_version()}"]
    for name in names:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"no {name}")
    return ", ".join(found)
