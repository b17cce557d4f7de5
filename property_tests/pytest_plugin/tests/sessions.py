"""Runs pytest in a process of its own with the plugin, and reads what it reports.  It holds no test."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as Xml

import simstrategy
import simstrategy_pytest

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "testing_your_program.md"
PLUGIN = "simstrategy_pytest.plugin"
FEW = """
from hypothesis import settings
settings.register_profile("few", max_examples=8, database=None, derandomize={})
settings.load_profile("few")
"""


class Ended(NamedTuple):
    """A session that ended.  failures: by name of the test, the text in the JUnit file."""

    code: int
    output: str
    failures: dict
    passed: list


def run_pytest(folder, *options, derandomize=True):
    """Runs pytest in a folder and returns how it ended."""
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    (folder / "conftest.py").write_text(FEW.format(derandomize))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    sources = [str(Path(one.__file__).parents[1]) for one in (simstrategy, simstrategy_pytest)]
    kept["PYTHONPATH"] = os.pathsep.join([*sources, kept.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "pytest", "-q", "-p", PLUGIN, "--junitxml=report.xml", *options]
    done = subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True, timeout=300, check=False)
    file = folder / "report.xml"
    cases = [*Xml.parse(file).iter("testcase")] if file.exists() else []
    failures = {
        case.get("name"): (case.find("failure").text or "") for case in cases if case.find("failure") is not None
    }
    passed = [case.get("name") for case in cases if not len(case) or case.find("system-out") is case[0]]
    return Ended(done.returncode, done.stdout + done.stderr, failures, passed)


def files_of_the_guide():
    """Returns the guide's files by name."""
    text = GUIDE.read_text(encoding="utf-8")
    found = re.findall(r"^[^\n]*`(\w+\.py)`[^\n]*:\n\n```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return dict(found)
