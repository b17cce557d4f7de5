"""Builds the documentation: a folder of pages that needs no server and no network to be read.

    python3 ci/run.py docs [options of sphinx-build]

Writes `build/docs/html`; open `index.html` there. A warning of Sphinx is an error, and so are a link of a built page to
what does not exist, or to another host for anything but reading on, and a term of the glossary without a link. Where
there is a Chromium, the pages are opened as files, and their search has to find something.
Sphinx and its packages are in an environment of their own over `.venv`, so no other step installs them.
"""

import shutil
import subprocess
import sys
from pathlib import Path

from ci.overlay import install, python_over
from ci.site.links import broken_links
from ci.site.opened import problems_when_opened
from ci.site.term_check import unlinked_terms

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "docs"
REQUIREMENTS = ROOT / "ci" / "requirements-docs.txt"
# An environment over this one may not bring others of these: the pages run what tests run.
FIXED = ("numpy", "typer", "pytest")


def main(options: list[str]) -> int:
    python = environment()
    html = FOLDER / "html"
    shutil.rmtree(html, ignore_errors=True)  # pages of files that are there no more
    builder = ["-q", "-E", "-b", "html", "-W", "--keep-going", "-c", "ci/site", "-d", str(FOLDER / "doctrees")]
    command = [python, "-m", "sphinx", *builder, *options, str(ROOT), str(html)]
    if subprocess.run(command, cwd=ROOT, check=False).returncode:
        return 1
    broken, unlinked, failed = broken_links(html), unlinked_terms(html, ROOT), problems_when_opened(html)
    for problem in [*broken, *unlinked, *(failed or ())]:
        print(problem, file=sys.stderr)
    search = "not tried, there is no chromium" if failed is None else f"{len(failed)} problems"
    counted = f"{len(broken)} broken links; {len(unlinked)} terms without a link"
    print(f"{counted}; opened as files, with a search: {search}. The pages: {html / 'index.html'}")
    return 1 if broken or unlinked or failed else 0


def environment() -> str:
    """Returns the Python of an environment with the pinned packages, which is made unless they are there already."""
    python, stamp = python_over(FOLDER / "environment"), FOLDER / "installed.txt"
    wanted = REQUIREMENTS.read_text(encoding="utf-8")
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
        problem = install(python, ["-r", str(REQUIREMENTS)], FIXED)
        if problem is not None:
            raise SystemExit(f"The packages of {REQUIREMENTS.relative_to(ROOT)} cannot be installed: {problem}")
        stamp.write_text(wanted, encoding="utf-8")
    return python


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
