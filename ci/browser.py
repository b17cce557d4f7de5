"""Opens pages of recordings in Chromium: Debian's, driven by Playwright, which downloads none of its own.

    python3 ci/run.py browser [--install] [options of pytest]

--install: installs what is missing and opens nothing, as `ci/run.py test` does before its tests.

Where there is no Chromium it is installed by apt; where that is not possible either, the reason is given and the step
succeeds. The rules of accessibility are axe-core's, one file of an npm package in `build/browser`; without npm they are
left out, and the tests state it.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "browser"
AXE = FOLDER / "node_modules" / "axe-core" / "axe.min.js"
PACKAGE = "axe-core@4.14.1"


def main(options: list[str]) -> int:
    reason = install_chromium()
    if reason is not None:
        print(f"browser: skipped, {reason}")
        return 0
    if not AXE.exists() and shutil.which("npm") is not None:
        FOLDER.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--prefix", str(FOLDER), PACKAGE], check=False)
    if options == ["--install"]:
        return 0
    settings = {**os.environ, "SIMSTRATEGY_BROWSER": "required"}
    command = [sys.executable, "-m", "pytest", "-n", "auto", "tests/player", *options]
    return subprocess.run(command, cwd=ROOT, env=settings, check=False).returncode


def install_chromium() -> str | None:
    """Installs Chromium where it is missing; returns what prevents it, or None."""
    if shutil.which("chromium") is not None:
        return None
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return "there is no chromium, and apt-get cannot install it: this is no Debian, or not its administrator"
    command = ["apt-get", "install", "-y", "--no-install-recommends", "chromium"]
    for step in (["apt-get", "update"], command):
        if subprocess.run(step, check=False, stdout=subprocess.DEVNULL).returncode:
            return f"{' '.join(step)} failed, see above"
    return None


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
