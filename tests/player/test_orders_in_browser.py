"""Sums that are added again in the page, virtual time, and the page of a check, in Chromium."""

import re
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shares import one_in

import simstrategy as ss
from simstrategy.check.formats import as_page, played
from simstrategy.player import PlayedRun, as_player
from simstrategy.player.modules import joined
from simstrategy.sim import Cost
from simstrategy.sim.collectives import combine, order_named

pytestmark = [pytest.mark.browser, pytest.mark.slow]

context = ss.get_replica_context
FLOATS = st.floats(width=32)
BATCH = 1000


@pytest.fixture(scope="module")
def float32(chromium):
    """Calls the functions of the module float32.js in a page."""
    web = files("simstrategy.player") / "web"
    modules = {
        "float32.js": (web / "float32.js").read_text("utf-8"),
        "main.js": 'import { additions, divided, float32Of, float32Text } from "./float32.js";\n'
        "window.sums = { additions, divided, float32Of, float32Text };",
    }
    tab = chromium.new_page()
    tab.evaluate(joined(modules, "main.js"))
    yield tab
    tab.close()


def test_every_order_of_a_sum_has_the_bits_of_the_simulator(float32):
    examples = []

    @settings(max_examples=BATCH, database=None, deadline=None, derandomize=True)
    @given(
        st.lists(FLOATS, min_size=2, max_size=9).flatmap(
            lambda terms: st.tuples(st.just(terms), st.permutations(range(len(terms))), st.booleans())
        )
    )
    def draw(example):
        examples.append(example)

    draw()
    asked = [[[str(np.float32(one)) for one in terms], list(order), pairs] for terms, order, pairs in examples]
    texts = float32.evaluate(
        """(asked) => asked.map(([texts, order, inPairs]) => {
          const made = sums.additions(texts.map(sums.float32Of), order, inPairs);
          const total = made[made.length - 1][2];
          return [sums.float32Text(total), sums.float32Text(sums.divided(total, order.length))];
        })""",
        asked,
    )
    assert len(texts) == len(examples) >= BATCH
    for (terms, order, pairs), found in zip(examples, texts, strict=True):
        arrays = [np.asarray(terms[rank], np.float32) for rank in order]
        with np.errstate(all="ignore"):
            total = combine(arrays, "SUM", order_named("tree" if pairs else "linear"))[()]
            mean = np.divide(total, np.float32(len(order)))
        for one, text in zip((total, mean), found, strict=True):
            assert np.float32(text).tobytes() == one.tobytes() or (np.isnan(one) and text == "nan")


def test_texts_of_float32_are_those_of_numpy(float32):
    bits = np.random.default_rng(0).integers(0, 1 << 32, 20_000, dtype=np.uint64).astype(np.uint32)
    values = [one for one in bits.view(np.float32) if not np.isnan(one)]
    texts = float32.evaluate(
        "(texts) => texts.map((one) => sums.float32Text(sums.float32Of(one)))", [*map(str, values)]
    )
    assert all(np.float32(text) == value for text, value in zip(texts, values, strict=True))
    assert sum(text != str(value) for text, value in zip(texts, values, strict=True)) <= 2


def sums(strategy):
    def step():
        terms = np.float32([1e8, 1, -1e8, 0.1])
        return context().all_reduce("MEAN", terms[context().replica_id_in_sync_group])

    strategy.run(step)


def at_sum(tab):
    tab.fill("#search input", "all_reduce")
    tab.keyboard.press("Enter")
    tab.keyboard.press("Escape")
    tab.locator(".order summary").click()
    return tab.locator(".order [role=status] strong")


def test_a_term_is_moved_by_its_buttons_and_by_dragging(page, opened):
    tab = opened(page(sums, 4))
    result = at_sum(tab)
    recorded = result.inner_text()
    assert recorded.endswith("the recorded bits")
    tab.get_by_role("button", name="replica 2 earlier").press("Enter")
    moved = np.divide(np.float32(1e8) + np.float32(-1e8) + np.float32(1) + np.float32(0.1), np.float32(4))
    assert result.inner_text().startswith(f"{moved!s}: other bits than the recorded")
    assert tab.evaluate("document.activeElement.getAttribute('aria-label')") == "replica 2 earlier"
    tab.get_by_role("button", name="order of ranks").click()
    assert result.inner_text() == recorded
    terms = tab.locator(".order [draggable]")
    terms.nth(2).drag_to(terms.nth(1))
    assert [text.split(":")[0].split("replica ")[1] for text in terms.all_inner_texts()] == ["0", "2", "1", "3"]
    assert result.inner_text().startswith(f"{moved!s}: other bits")
    tab.select_option(".order select", label="in pairs, as a tree")
    assert "by 3 additions and a division by 4" in tab.inner_text(".order [role=status]")


@pytest.mark.parametrize("scheme", one_in(2, ["light", "dark"]))
def test_axe_finds_nothing_in_times_orders_and_a_report(record, opened, inaccessible, tmp_path, scheme):
    file = tmp_path / "page.html"
    cost = Cost(compute_s=1.0, alpha_s=0.25, slow={1: 3.0}, overlap=True)
    file.write_text(as_player("times", [PlayedRun("run", record(sums, 4), {})], cost=cost), "utf-8")
    tab = opened(file, scheme=scheme)
    at_sum(tab)
    tab.locator("#times summary").click()
    assert inaccessible(tab) == []
    report = ss.check(lambda strategy: np.float32(strategy.num_replicas_in_sync), replicas=[1, 2])
    file.write_text(as_page(report, played(report)), "utf-8")
    assert inaccessible(opened(file, scheme=scheme)) == []


def test_a_page_draws_the_virtual_time_of_each_point(record, opened, tmp_path):
    def steps(strategy):
        for _ in range(5):
            sums(strategy)

    file = tmp_path / "page.html"
    cost = Cost(compute_s=1.0, alpha_s=0.25, slow={1: 3.0}, algorithm="ring")
    file.write_text(as_player("times", [PlayedRun("run", record(steps, 4), {})], cost=cost), "utf-8")
    tab = opened(file)
    at_sum(tab)
    text = tab.inner_text("#times")
    assert "Waiting: replica 0 for 2 s, replica 2 for 2 s, replica 3 for 2 s." in text
    assert "all_reduce (ring, n = 4, s = 4): 2(n-1) messages of s/n bytes, 1.5 s from 3 s on." in text
    boxes = tab.locator("svg.times rect")
    assert boxes.count() >= 11
    assert tab.locator("svg.times .waits.now").count() == 3
    tab.locator("#times summary").click()
    assert tab.locator("#times tbody tr").nth(1).inner_text().split("\t") == ["replica 1", "15 s", "0 s", "7.5 s"]


def test_a_page_without_costs_has_no_time(page, opened):
    assert not opened(page(sums)).locator("section.times").is_visible()


def test_the_page_of_a_failed_check_leads_from_each_finding_to_its_event(opened, tmp_path):
    def average(strategy):
        def step(rows):
            return context().all_reduce("MEAN", context().xp.sum(rows) / max(rows.shape[0], 1))

        rows = ss.data.Dataset.from_tensor_slices(np.arange(10, dtype=np.float32)).batch(4)
        parts = strategy.experimental_distribute_dataset(rows)
        return [strategy.experimental_local_results(strategy.run(step, args=(part,)))[0] for part in parts]

    report = ss.check(average, replicas=[1, 3, 4])
    file = tmp_path / "report.html"
    file.write_text(as_page(report, played(report)), "utf-8")
    tab = opened(file)
    assert tab.evaluate("scrollY") == 0
    assert tab.inner_text("h1 >> nth=0") == "check of test_orders_in_browser.py"
    at = tab.inner_text("output.where")
    tab.keyboard.press("Home")
    assert tab.inner_text("output.where") == at
    links = tab.locator(".report a", has_text="See it below")
    assert links.count() == len(report.findings) == 2
    links.nth(1).click()
    tab.wait_for_function("document.getElementById('player').getBoundingClientRect().top < 20")
    assert tab.locator("#bar select").evaluate("(one) => one.selectedOptions[0].text") == "4 replicas"
    assert "all_reduce MEAN" in tab.inner_text("#caption")
    tab.click("#more .note summary")
    assert tab.inner_text("#more .note details p") == report.findings[1].cause
    line = int(report.findings[1].site.rpartition(":")[2])
    assert tab.locator(".line.current .number").inner_text() == str(line)
    assert "First difference from the run with 1 replica" in tab.inner_text("#point")
    tab.keyboard.press("Home")
    assert tab.inner_text("output.where").startswith("event 1 of")
    again = opened(file, "#run=2&at=3")
    again.wait_for_function("document.getElementById('player').getBoundingClientRect().top < 20")
    assert re.match("event 3 of", again.inner_text("output.where"))
