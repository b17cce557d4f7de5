"""The page of a failed check in Chromium: the way to the cause, its line, and the run that it is compared with."""

import re
from pathlib import Path

import numpy as np
import pytest
from shares import one_in

import simstrategy as ss
from simstrategy.check.formats import as_page, played
from simstrategy.player import PlayedRun, as_player
from simstrategy.trace.recording import HOLDS

pytestmark = [pytest.mark.browser, pytest.mark.slow]

context = ss.get_replica_context
TEXT = Path(__file__).read_text("utf-8")


def mean_of_means(strategy):
    def step(rows):
        mean = context().xp.sum(rows) / max(rows.shape[0], 1)
        return context().all_reduce("MEAN", mean)  # the cause

    rows = ss.data.Dataset.from_tensor_slices(np.arange(10, dtype=np.float32)).batch(4)
    parts = strategy.experimental_distribute_dataset(rows)
    return [strategy.experimental_local_results(strategy.run(step, args=(part,)))[0] for part in parts]


def line_of(text):
    """Returns the number of the first line of this file with a text."""
    return TEXT[: TEXT.index(text)].count("\n") + 1


CAUSE = line_of("# the cause")


def written(program, folder, replicas):
    report = ss.check(program, replicas=replicas)
    file = folder / "check.html"
    file.write_text(as_page(report, played(report)), "utf-8")
    return file


@pytest.fixture(scope="module")
def failed(tmp_path_factory):
    """The page of a check that has a cause with 3 replicas, at the first step, and one with 4, at the last."""
    return written(mean_of_means, tmp_path_factory.mktemp("page"), [1, 3, 4])


def jump(tab, name):
    return tab.get_by_role("group", name="Jump to").get_by_role("button", name=name, exact=True)


def test_a_jump_leads_back_to_the_cause_and_from_it_to_the_next_one(failed, opened):
    tab = opened(failed)
    tab.evaluate("document.querySelector('#player').scrollIntoView()")
    causes = []
    for key in ("End", "c", "c", "c"):
        tab.keyboard.press(key)
        causes.append((tab.url.partition("#")[2], tab.locator(".note").count()))
    assert [count for _, count in causes] == [0, 1, 1, 1]
    assert [where.partition("&")[0] for where, _ in causes] == ["run=2", "run=2", "run=3", "run=2"]
    tab.keyboard.press("Home")
    jump(tab, "cause").click()
    assert tab.url.endswith(causes[1][0])
    assert jump(tab, "cause").get_attribute("title") == "2 in this page; key c"
    assert jump(tab, "first difference").is_enabled()


def test_a_page_without_a_cause_states_why_the_jump_to_it_is_disabled(page, opened):
    tab = opened(page(lambda strategy: strategy.run(lambda: None)))
    assert jump(tab, "cause").is_disabled()
    assert jump(tab, "cause").get_attribute("title").startswith("This page has no cause of a finding")


def numbers(tab, kind):
    """Returns the numbers of the lines of the source that are marked."""
    return [int(text) for text in tab.locator(f".line.{kind} .number").all_inner_texts()]


def linked(strategy):
    """Its error names a line that is not the one of the cause."""
    strategy.run(lambda: context().all_reduce("SUM", np.zeros(context().replica_id_in_sync_group)))


def page_of(record, file):
    """Writes a page of a run that has a cause at its first stop, and a note that names another line of this file."""
    note = f"It begins at {Path(__file__).name}:3."
    run = PlayedRun(
        "run", record(linked), {Path(__file__).name: TEXT}, {0: note}, {0: f"{Path(__file__).name}:{CAUSE}"}
    )
    file.write_text(as_player("cause", [run]), "utf-8")
    return file


def test_the_sign_of_the_cause_stays_on_its_line(record, opened, tmp_path):
    tab = opened(page_of(record, tmp_path / "page.html"))
    assert numbers(tab, "cause") == [CAUSE]
    tab.click(".note summary")
    tab.locator(".note details button").click()
    assert (numbers(tab, "cause"), numbers(tab, "named")) == ([CAUSE], [3])
    for key in ("ArrowRight", "End", "Home"):
        tab.keyboard.press(key)
        assert numbers(tab, "cause") == [CAUSE]
        assert tab.locator(".line .sign").all_inner_texts() == ["◆"]
    assert numbers(tab, "named") == [CAUSE]


@pytest.mark.parametrize("width", [360, 1280])
def test_a_link_to_a_line_brings_it_into_view(record, opened, tmp_path, width):
    tab = opened(page_of(record, tmp_path / "page.html"), width=width, height=740)
    tab.click(".note summary")
    tab.locator(".note details button").click()
    line = tab.locator(".line.named").bounding_box()
    assert 0 <= line["y"] <= 740 - line["height"]


@pytest.mark.parametrize("width", [360, 1280, 1600])
def test_the_text_of_a_line_stands_beside_its_number_and_is_not_cut_off(failed, opened, width):
    tab = opened(failed, width=width)
    box, number, text = (
        tab.locator(one).bounding_box() for one in ("#source", ".line.cause .number", ".line.cause code")
    )
    assert text["x"] - number["x"] - number["width"] < 40
    assert text["x"] + text["width"] <= box["x"] + box["width"]
    assert tab.evaluate("(box => box.scrollWidth - box.clientWidth)(document.querySelector('#source'))") <= 0


def raises(strategy):
    strategy.run(lambda: context().all_reduce("SUM", np.float32(1)))
    raise ValueError("of the program")  # the raising line


def raises_in_a_replica(strategy):
    def step():
        raise ValueError("of a replica")  # the line of the replica

    strategy.run(step)


@pytest.mark.parametrize(
    ("program", "says", "line"),
    [
        (raises, "The program ends with ValueError at test_cause_in_browser.py:", "# the raising line"),
        (raises_in_a_replica, "A replica function raised ValueError", "# the line of the replica"),
    ],
)
def test_the_source_opens_at_the_line_that_raised(opened, tmp_path, program, says, line):
    tab = opened(written(program, tmp_path, [2]))
    assert says in tab.inner_text("#caption")
    assert numbers(tab, "current") == [line_of(line)]
    box, current = (tab.locator(one).bounding_box() for one in ("#source", ".line.current"))
    assert box["y"] <= current["y"] <= box["y"] + box["height"] - current["height"]
    assert numbers(tab, "cause") == [line_of(line)]
    assert jump(tab, "cause").get_attribute("title") == "where the program raises ValueError: 1 in this page; key c"


def test_a_jump_by_its_key_brings_the_player_into_view_and_other_keys_scroll_the_page(failed, opened):
    tab = opened(failed)
    top = "document.querySelector('#player').getBoundingClientRect().top"
    tab.evaluate("scrollTo(0, 0)")
    assert tab.evaluate(top) > 450
    before = tab.url
    for key in ("e", "ArrowRight"):  # no event of the page is an error
        tab.keyboard.press(key)
        assert (tab.url, tab.evaluate(top) > 450) == (before, True)
    tab.keyboard.press("c")  # the page opened at a cause: this one is shown, and not the next
    assert tab.url == before
    assert abs(tab.evaluate(top)) < 2
    tab.keyboard.press("c")
    assert tab.url != before


def held(values, *before):
    """Returns a run of a script in which names hold values: a value for each replica."""
    recorder = ss.trace.Recorder()
    recorder.describe(replicas=len(values), workers=1, order="linear", arrivals="not recorded")
    for name in (*before, "loss"):
        recorder.wrote(0, None, name, HOLDS, (), [np.float32(value) for value in values], ("/home/user/train.py", 7))
    recorder.ended(0, [])
    recorder.close()
    return recorder.recording()


@pytest.fixture
def two(tmp_path):
    """A page of two runs: the cause is the second event of the second, which is the first one of the first run."""
    runs = [
        PlayedRun("1 replica", held([4.5]), {}),
        PlayedRun("2 replicas", held([3, 5], "rank"), {}, {1: "The cause."}),
    ]
    file = tmp_path / "page.html"
    file.write_text(as_player("two", runs, start=(1, 1)), "utf-8")
    return file


def test_the_reference_stands_beside_the_cause(two, opened):
    tab = opened(two)
    assert "The same event in the run with 1 replica" in tab.inner_text(".beside")
    assert tab.locator("#point > .wide tbody tr td").all_inner_texts() == ["float32[] 3.0", "float32[] 5.0"]
    assert tab.locator(".beside tbody tr td").all_inner_texts() == ["float32[] 4.5", "-1.5"]
    tab.keyboard.press("Home")
    assert tab.locator(".beside").count() == 0


def test_another_run_is_shown_at_the_same_event_where_it_has_one(two, opened):
    tab = opened(two)
    assert jump(tab, "first difference").get_attribute("title").endswith("Values of single replicas are not compared.")
    for run, at in ((0, 1), (1, 2)):
        tab.select_option("#bar select", index=run)
        assert tab.url.endswith(f"#run={run + 1}&at={at}")
    tab.get_by_role("button", name="back").click()
    tab.select_option("#bar select", index=0)
    assert tab.url.endswith("#run=1&at=1")


@pytest.mark.parametrize("width", [360, 1280])
def test_a_line_that_the_report_names_is_a_link_to_it_in_the_player(failed, opened, width):
    tab = opened(failed, width=width)
    links = tab.locator(".report p a", has_text=f"{Path(__file__).name}:{CAUSE}")
    assert links.count() == 3
    for _ in range(2):
        links.last.click()
        tab.wait_for_url(re.compile(r"#run=3&at=\d+$"))
        assert numbers(tab, "named") == [CAUSE]
        line = tab.locator(".line.named").bounding_box()
        assert 0 <= line["y"] <= 900 - line["height"]
        tab.evaluate("scrollTo(0, 0)")


@pytest.mark.parametrize("scheme", one_in(2, ["light", "dark"]))
def test_axe_finds_nothing_that_is_not_accessible_at_a_cause_and_at_a_line_that_a_link_shows(
    record, failed, opened, inaccessible, tmp_path, scheme
):
    assert inaccessible(opened(failed, scheme=scheme)) == []
    tab = opened(page_of(record, tmp_path / "page.html"), scheme=scheme)
    tab.click(".note summary")
    tab.locator(".note details button").click()
    assert inaccessible(tab) == []


def test_in_a_narrow_window_what_replicas_brought_and_got_stands_below_each_other(failed, opened):
    tab = opened(failed, width=360, height=740)
    tab.keyboard.press("c")
    tables = tab.locator("#point .wide")
    assert tables.count() > 0
    for number in range(tables.count()):
        assert tables.nth(number).evaluate("box => box.scrollWidth <= box.clientWidth")
    cell = tab.locator("#point tbody td[data-heading='brought']").first
    assert cell.evaluate("cell => getComputedStyle(cell, '::before').content") == '"brought: "'
    tab.set_viewport_size({"width": 1280, "height": 900})
    assert cell.evaluate("cell => getComputedStyle(cell, '::before').content") == "none"


def test_a_value_that_is_another_one_than_in_the_first_run_has_a_sign(opened, tmp_path):
    runs = [PlayedRun("1 replica", held([4.5]), {}), PlayedRun("2 replicas", held([5, 5]), {})]
    file = tmp_path / "page.html"
    file.write_text(as_player("two", runs, start=(1, 0)), "utf-8")
    tab = opened(file)
    assert tab.locator(".row .apart").all_inner_texts() == ["Δ "]
    assert "another value here than in the first run" in tab.locator(".row").first.get_attribute("aria-label")
    assert tab.locator(".versus").is_visible()
    title = tab.locator(".beside summary")
    assert title.inner_text().strip() == "The same event in the run with 1 replica: another value than here"
    assert not tab.locator(".beside table").first.is_visible()
    title.click()
    assert tab.locator(".beside tbody tr td").all_inner_texts() == ["float32[] 4.5", "0.5"]
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowLeft")
    assert tab.locator(".beside table").first.is_visible()  # it stays open
    tab.select_option("#bar select", index=0)
    assert tab.locator(".row .apart").count() == 0
    assert not tab.locator(".versus").is_visible()
