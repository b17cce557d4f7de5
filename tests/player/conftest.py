"""Pages of recorded programs, and a browser that opens them where there is one."""

import os
import shutil
from pathlib import Path

import pytest

import simstrategy as ss
from simstrategy.player import PlayedRun, as_player

AXE = Path(__file__).resolve().parents[2] / "build" / "browser" / "node_modules" / "axe-core" / "axe.min.js"
REQUIRED = os.environ.get("SIMSTRATEGY_BROWSER") == "required"
"""Whether a browser that is missing is a failure, as in `ci/run.py browser`."""


@pytest.fixture
def record():
    """Runs a program with a recorder; returns the recording, also where the program raised."""

    def make(program, replicas=2, **settings):
        recorder = ss.trace.Recorder(root=str(Path(__file__).parent))
        with_order = ss.backend("sim", replicas=replicas, order=settings.pop("order", "linear"))
        strategy = ss.Strategy.mirrored(with_order, trace=recorder, **settings)
        recorder.describe(order=with_order.order)
        try:
            program(strategy)
        except ss.errors.SimStrategyError as error:
            recorder.ended(0, [], (type(error).__name__, str(error)))
        else:
            recorder.ended(0, [])
        strategy.close()
        recorder.close()
        return recorder.recording()

    return make


@pytest.fixture
def page(record, tmp_path):
    """Records a program and writes its page; returns the file."""

    def make(program, replicas=2, *, title="a program", sources=None, **settings):
        file = tmp_path / "page.html"
        run = PlayedRun("run", record(program, replicas, **settings), sources or {})
        file.write_text(as_player(title, [run]), "utf-8")
        return file

    return make


@pytest.fixture
def inaccessible():
    """Returns what axe-core finds in a tab that is not accessible; skips where it is not at hand.

    In the dark scheme it looks at contrasts alone: nothing but colours is other than in the light one.
    """
    if not AXE.exists():
        pytest.skip("axe-core is not at hand: python3 ci/run.py browser installs it")

    def find(tab):
        tab.evaluate(AXE.read_text("utf-8"))
        rules = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]
        is_dark = tab.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
        asked = {"type": "rule", "values": ["color-contrast"]} if is_dark else {"type": "tag", "values": rules}
        found = tab.evaluate("asked => axe.run({runOnly: asked})", asked)
        return [(one["id"], [node["html"][:100] for node in one["nodes"]][:3]) for one in found["violations"]]

    return find


def _missing(reason):
    if REQUIRED:
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def chromium():
    """Debian's Chromium, without a window; skips where it or Playwright is missing.

    Playwright keeps an event loop in the thread that has started it: it is stopped before tests of other files.
    """
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        _missing("Playwright is not installed: python3 ci/run.py browser installs it")
    path = shutil.which("chromium")
    if path is None:
        _missing("there is no chromium: apt-get install --no-install-recommends chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium):
    """Opens a file at a fragment; returns the tab. Fails in the end for requests, errors and dialogs of the page."""
    contexts, problems = [], []

    def make(file, fragment="", *, width=1400, height=900, scheme="light"):
        context = chromium.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        contexts.append(context)
        tab = context.new_page()
        tab.on("request", lambda request: problems.append(request.url) if request.url != f"file://{file}" else None)
        tab.on("console", lambda message: problems.append(message.text))
        tab.on("pageerror", lambda error: problems.append(str(error)))
        tab.on("dialog", lambda dialog: (problems.append(dialog.message), dialog.dismiss()))
        tab.goto(f"file://{file}{fragment}")
        tab.wait_for_selector("html[data-ready]", state="attached")
        return tab

    yield make
    for context in contexts:
        context.close()
    assert [one.partition("#")[0] for one in problems if not one.startswith("file://")] == []
    assert [one for one in problems if one.startswith("file://") and ".html#" not in one] == []
