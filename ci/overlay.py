"""Environments of their own over this one: they see its packages, and what is installed there stands before these."""

import subprocess
import sys
import tempfile
import venv
from importlib.metadata import version

__all__ = ["install", "python_over"]


def python_over(folder):
    """Returns the Python of the environment in a folder, which is made if there is none."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        site = next((folder / "lib").glob("python*")) / "site-packages"
        own = [path for path in sys.path if path.endswith("site-packages")]
        # Not by its path alone: its own .pth files lead to what is installed there to be edited.
        lines = [f"import site; site.addsitedir({path!r})\n" for path in own]
        (site / "below.pth").write_text("".join(lines), encoding="utf-8")
    return str(python)


def install(python, packages, fixed=()):
    """Installs packages there; returns the problem in words, or None.

    fixed: names of packages of this environment that none of them may replace.
    """
    if not packages:
        return None
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as constraints:
        constraints.write("".join(f"{name}=={version(name)}\n" for name in fixed))
        constraints.flush()
        command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", constraints.name]
        done = subprocess.run([*command, *packages], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else (done.stderr.strip().splitlines() or ["pip failed"])[-1]
