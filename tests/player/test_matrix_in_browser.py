"""The page of many reports in Chromium: cells open by keyboard, nothing is requested, no page is wider than the screen.

It stands here for the browser of these tests; the page has no script and nothing of the player.
"""

import pytest
from kit_reports import OUTCOMES, document, failed, note

from simstrategy_conformance.matrix.columns import column_of
from simstrategy_conformance.matrix.page import page_text

pytestmark = [pytest.mark.browser, pytest.mark.slow]

HOSTILE = "</pre></script><script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture
def matrix(chromium, tmp_path):
    """Opens a page of seven columns, one of them hostile; fails in the end for requests, scripts and dialogs."""
    names = ["sim", "template", "tensorflow", "torch", "xla", "a_module_with_a_long_name:open_it"]
    columns = [document(name) for name in names]
    columns.append(
        document("acme", outcomes=(*OUTCOMES, failed(f"E   {HOSTILE}\nE   {HOSTILE}")), notes=[note(HOSTILE)])
    )
    file = tmp_path / "matrix.html"
    file.write_text(page_text([column_of(one) for one in columns], {"B-8": "The sum."}), "utf-8")
    contexts, problems = [], []

    def make(width, scheme):
        context = chromium.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        contexts.append(context)
        tab = context.new_page()
        tab.on("request", lambda request: problems.append(request.url) if request.url != f"file://{file}" else None)
        tab.on("console", lambda message: problems.append(message.text))
        tab.on("dialog", lambda dialog: (problems.append(dialog.message), dialog.dismiss()))
        tab.goto(f"file://{file}")
        return tab

    yield make
    for context in contexts:
        context.close()
    assert problems == []


@pytest.mark.parametrize(("width", "scheme"), [(1600, "light"), (360, "dark")])
def test_a_cell_opens_by_keyboard_and_the_page_is_as_wide_as_the_screen(matrix, inaccessible, width, scheme):
    tab = matrix(width, scheme)
    cell = tab.locator("td.failed details")
    assert not cell.locator("pre").is_visible()
    cell.locator("summary").focus()
    tab.keyboard.press("Enter")
    assert cell.locator("pre").is_visible()
    assert HOSTILE in cell.inner_text()
    assert "simstrategy conform acme --profile quick --seed 0 --clauses R-2" in cell.inner_text()
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    # The clause stays in sight beside a cell that is scrolled to.
    assert tab.locator("tbody th", has_text="R-2").bounding_box()["x"] >= 0
    assert inaccessible(tab) == []


def test_a_title_leads_to_the_text_of_its_clause(matrix):
    tab = matrix(1600, "light")
    tab.get_by_role("link", name="all_reduce").focus()
    tab.keyboard.press("Enter")
    assert tab.locator("dt:target").inner_text() == "B-8"
