"""Opens built pages as files in Chromium: whether the search finds something, and whether a page calls for a host."""

import shutil
from pathlib import Path

from playwright.sync_api import Request, sync_playwright

__all__ = ["problems_when_opened"]

SEARCHED = "all_reduce"
FOUND = "ReplicaContext.all_reduce"
SECONDS = 20


def problems_when_opened(folder: Path) -> list[str] | None:
    """Returns a sentence for each thing that does not work in a folder of pages; None where there is no Chromium."""
    chromium = shutil.which("chromium")
    if chromium is None:
        return None
    problems: list[str] = []

    def on_request(request: Request) -> None:
        if not request.url.startswith("file://"):
            problems.append(f"it calls for {request.url}")

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page()
        tab.on("request", on_request)
        tab.on("pageerror", lambda error: problems.append(f"a script raises {error}"))
        tab.goto(f"file://{folder / 'index.html'}")
        tab.wait_for_url("**/docs/index.html")
        tab.fill("input.sidebar-search", SEARCHED)
        tab.keyboard.press("Enter")
        tab.wait_for_selector("ul.search li", state="attached", timeout=SECONDS * 1000)
        if not any(FOUND in one for one in tab.locator("ul.search li").all_inner_texts()):
            problems.append(f"the search for {SEARCHED} does not find {FOUND}")
        browser.close()
    return problems
