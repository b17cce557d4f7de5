"""A Python for each TensorFlow: this project's own for 2.21.0, and environments with Python 3.7 for 1.x.

It makes them under `.venv/golden`, where nobody has to be told to ignore them. It installs no Python.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".venv" / "golden"
# protobuf 3.21 has other Python classes than these releases were made with; so has NumPy 1.19 for 1.13.
PACKAGES = {
    "1.13.2": ("tensorflow==1.13.2", "protobuf<3.21", "numpy<1.19"),
    "1.15.5": ("tensorflow==1.15.5", "protobuf<3.21"),
    "2.21.0": (),
}
VERSION = "import sys; print('%d.%d' % sys.version_info[:2])"


class Missing(Exception):
    """There is no environment, and why: the recorded answers stay as they are."""


def python_for(release: str) -> Path:
    """Returns an interpreter that imports a release, made anew if it has to be. Raises Missing where none can be."""
    if not PACKAGES[release]:
        return Path(sys.executable)
    folder = FOLDER / release
    python, stamp = folder / "bin" / "python", folder / "installed.txt"
    wanted = "\n".join(PACKAGES[release])
    if python.exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return python
    print(f"Installing TensorFlow {release} for Python 3.7, once …", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    _must(release, [python37(), "-m", "venv", str(folder)])
    quiet = ["--quiet", "--disable-pip-version-check"]
    _must(release, [str(python), "-m", "pip", "install", *quiet, *PACKAGES[release]])
    # Last, so that an installation that was cut off is done again.
    stamp.write_text(wanted, encoding="utf-8")
    return python


def python37() -> str:
    """Returns a Python 3.7: $PYTHON37, one on PATH, or one of pyenv's. Raises Missing where there is none."""
    tried = []
    for candidate in _candidates():
        tried.append(candidate)
        if _version(candidate) == "3.7":
            return candidate
    raise Missing(
        "there is no Python 3.7, which TensorFlow 1.x needs. Install one (pyenv install 3.7) or name it in PYTHON37. "
        f"Tried: {', '.join(tried) or 'nothing was found'}."
    )


def _candidates() -> Iterator[str]:
    if os.environ.get("PYTHON37"):
        yield os.environ["PYTHON37"]
        return
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        if folder and (Path(folder) / "python3.7").exists():
            yield str(Path(folder) / "python3.7")
    versions = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    yield from (str(path) for path in sorted(versions.glob("3.7*/bin/python3.7")))


def _version(python: str) -> str | None:
    """Returns an interpreter's version; None where it does not run, as pyenv's stand-ins do not by default."""
    try:
        done = subprocess.run([python, "-c", VERSION], capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _must(release: str, command: list[str]) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        last = done.stdout.strip().splitlines()[-1:] or ["it printed nothing"]
        raise Missing(f"TensorFlow {release} could not be installed: {' '.join(command)} said: {last[0]}")
