"""The page in Chromium: what it shows, what it loads, keys, and large recordings."""

from pathlib import Path

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.player import PlayedRun, as_player

pytestmark = [pytest.mark.browser, pytest.mark.slow]

context = ss.get_replica_context
HOSTILE = "</script><img src=x onerror=alert(1)><script>alert(2)</script>"


def trained(strategy, batches=3):
    with strategy.scope():
        total = ss.Variable(np.float32(0.1), aggregation=ss.VariableAggregation.SUM, name="total")

    def step(rows):
        total.assign_add(context().xp.sum(rows))
        return context().all_reduce("MEAN", np.float32(0.7) * np.float32(context().replica_id_in_sync_group))

    rows = ss.data.Dataset.from_tensor_slices(np.arange(3 * batches - 1, dtype=np.float32)).batch(3)
    for part in strategy.experimental_distribute_dataset(rows):
        strategy.run(step, args=(part,))


def disagrees(strategy):
    def step():
        if context().replica_id_in_sync_group:
            context().all_reduce("SUM", np.float32(1))

    strategy.run(step)


def walk(tab, key):
    """Presses a key until the position stays; returns the text of the page at each stop."""
    texts = []
    while True:
        # Not the list, which keeps its scroll position.
        texts.append([tab.inner_text(part) for part in ("#caption", "#more", ".middle", "section.source")])
        before = tab.inner_text("output.where")
        tab.keyboard.press(key)
        if tab.inner_text("output.where") == before:
            return texts


def test_it_is_walked_to_the_end_and_back_with_the_same_text_and_without_a_request(page, opened):
    tab = opened(page(trained, 3))
    there = walk(tab, "ArrowRight")
    back = walk(tab, "ArrowLeft")
    count = int(tab.inner_text("output.where").split()[-1])
    assert len(there) == len(back) == count
    assert there == back[::-1]


def test_values_and_sums_are_the_recorders(page, record, opened):
    point = next(one for one in record(trained, 3).points if one.kind == "all_reduce")
    tab = opened(page(trained, 3))
    tab.fill("#search input", "all_reduce MEAN")
    tab.keyboard.press("Enter")
    cells = tab.locator("#point tbody").first.locator("tr")
    for place, (brought, got) in enumerate(zip(point.inputs, point.outputs, strict=True)):
        row = [text.strip() for text in cells.nth(place).locator("th, td").all_inner_texts()]
        assert row[:2] == [f"replica {place}", str(point.replicas.index(place) + 1)]
        assert row[3] == f"float32[] {brought[0].array!s}"
        assert row[4] == f"float32[] {got[0].array!s}"
    sums = tab.locator(".sums tbody tr").all_inner_texts()
    assert sums[-1].split() == ["divided", "by", "3", "=", str(point.outputs[0][0].array)]


def test_each_replica_of_a_disagreement_has_what_it_was_doing_and_the_error_word_for_word(page, record, opened):
    error = record(disagrees, 3).points[-1].error
    tab = opened(page(disagrees, 3))
    tab.keyboard.press("e")
    assert tab.inner_text("#more pre") == f"{error[0]}: {error[1]}"
    rows = tab.locator("#point tbody tr").all_inner_texts()
    assert "had returned" in rows[0]
    assert all("all_reduce SUM float32[] at test_in_browser.py" in row for row in rows[1:])


def test_a_hostile_program_executes_nothing(page, opened):
    def hostile(strategy):
        with strategy.scope():
            kept = ss.Variable(np.zeros(2, np.float32), name=HOSTILE)
        kept.assign(np.ones(2, np.float32))
        strategy.require_equal_after_run(HOSTILE, lambda: ss.PerReplica([np.float32(1)] * 2))
        strategy.run(lambda: None)

    tab = opened(page(hostile, title=HOSTILE, sources={"test_in_browser.py": HOSTILE}))
    walk(tab, "ArrowRight")
    assert tab.title() == HOSTILE
    assert tab.locator("img, main script").count() == 0
    assert tab.inner_text("#variables h3").startswith(HOSTILE)


def test_the_position_is_in_the_fragment(page, opened):
    file = page(trained)
    tab = opened(file, "#at=4")
    assert tab.inner_text("output.where").startswith("event 4 of ")
    tab.keyboard.press("End")
    last = tab.inner_text("output.where").split()[-1]
    assert tab.url.endswith(f"#at={last}")
    tab.evaluate("location.hash = 'at=2'")
    tab.wait_for_function("document.querySelector('output.where').textContent.startsWith('event 2 of')")
    assert opened(file, "#at=none&run=x").inner_text("output.where").startswith("event 1 of ")
    assert opened(file, "#at=99999").inner_text("output.where").startswith(f"event {last} of ")


def test_every_action_has_a_key_and_every_jump_that_leads_nowhere_is_disabled(page, opened):
    tab = opened(page(trained))
    tab.keyboard.press("u")
    assert "The parts are not equal" in tab.inner_text("#caption")
    tab.keyboard.press("PageDown")
    assert "calls run" in tab.inner_text("#caption")
    tab.keyboard.press("/")
    tab.keyboard.type("returned")
    tab.keyboard.press("Enter")
    tab.keyboard.press("Escape")
    assert "has returned" in tab.inner_text("#caption")
    assert tab.get_by_role("button", name="divergence").is_disabled()
    tab.keyboard.press("?")
    assert tab.get_by_role("dialog").is_visible()
    tab.keyboard.press("Escape")
    tab.keyboard.press("Home")
    tab.focus("#replicas")
    tab.keyboard.press("ArrowDown")
    assert tab.inner_text("output.where").startswith("event 2 of ")
    assert tab.get_attribute("#replicas", "aria-activedescendant") == "stop-1"
    assert tab.locator("#stop-1").get_attribute("aria-selected") == "true"


def test_a_line_of_the_source_leads_to_its_events(page, opened):
    lines = Path(__file__).read_text("utf-8")
    tab = opened(page(trained, sources={"test_in_browser.py": lines}))
    number = lines[: lines.index("total.assign_add(")].count("\n") + 1
    tab.get_by_role("button", name=f"line {number}, next of").click()
    assert "assign_add SUM" in tab.inner_text("#caption")
    assert tab.locator(".line.current .number").inner_text() == str(number)


def test_ten_thousand_events_open_in_a_small_page_with_few_rows_in_the_document(opened, tmp_path):
    long = ss.trace.Recorder()
    strategy = ss.Strategy.mirrored("sim", replicas=2, trace=long)

    def step(number):
        share = np.float32([0.1, 0.7]) * np.float32(number + context().replica_id_in_sync_group)
        return context().all_reduce("SUM", share)

    for number in range(3_400):
        strategy.run(step, args=(number,))
    file = tmp_path / "page.html"
    file.write_text(as_player("long", [PlayedRun("run", long.recording(), {})]), "utf-8")
    assert file.stat().st_size < 4_000_000
    tab = opened(file, "#at=9000")
    assert tab.locator(".row").count() < 100
    tab.keyboard.press("End")
    assert tab.inner_text("output.where") == "event 10200 of 10200"
    assert tab.locator(".row.current").inner_text().startswith("10200")


@pytest.mark.parametrize("width", [320, 360, 1600])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_width_scrolls_sideways_and_the_current_row_is_in_sight(page, opened, width, scheme):
    tab = opened(page(trained, 8), "#at=12", width=width, scheme=scheme)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.locator(".row.current").count() == 1
    box, row = (tab.locator(one).bounding_box() for one in ("#replicas", ".row.current"))
    assert box["y"] <= row["y"] <= box["y"] + box["height"] - row["height"]


def test_two_runs_stand_beside_each_other_at_their_first_difference(record, opened, tmp_path):
    def average(strategy):
        def step(rows):
            mean = context().xp.sum(rows) / max(rows.shape[0], 1)
            return context().all_reduce("MEAN", mean)

        for rows in strategy.experimental_distribute_dataset(ss.data.Dataset.range(5).batch(4)):
            strategy.run(step, args=(rows,))

    runs = [PlayedRun(f"replicas {count}", record(average, count), {}) for count in (1, 2, 3)]
    file = tmp_path / "page.html"
    file.write_text(as_player("average", runs), "utf-8")
    tab = opened(file)
    tab.keyboard.press("f")
    assert "run=2" in tab.url
    tab.select_option("#bar select", label="replicas 3")
    tab.keyboard.press("Tab")
    tab.get_by_role("button", name="first difference").click()
    assert "run=3" in tab.url
    assert "all_reduce MEAN" in tab.inner_text("#caption")
    beside = tab.inner_text(".beside")
    assert "First difference from the run with replicas 1" in beside
    assert "float32[] 1.5" in beside
    tab.get_by_role("button", name="this event of replicas 1").click()
    assert "run=1" in tab.url


def test_a_trace_without_values_states_no_order_of_arrival(opened, tmp_path):
    trace = ss.trace.Trace()
    ss.Strategy.mirrored("sim", replicas=2, trace=trace).run(lambda: context().all_reduce("SUM", np.float32(1)))
    trace.write(tmp_path / "a.jsonl")
    file = tmp_path / "page.html"
    file.write_text(as_player("trace", [PlayedRun("run", ss.trace.read(tmp_path / "a.jsonl"), {})]), "utf-8")
    tab = opened(file, "#at=2")
    assert tab.locator(".row.current .cell").all_inner_texts() == ["●", "●"]
    assert "arrived" not in tab.inner_text("#point")
    assert "no value was recorded" in tab.inner_text("#point")


def test_an_empty_recording_opens(opened, tmp_path):
    file = tmp_path / "page.html"
    file.write_text(as_player("empty", [PlayedRun("run", ss.trace.Recorder().recording(), {})]), "utf-8")
    tab = opened(file)
    assert tab.inner_text("#caption").startswith("Nothing was recorded")


@pytest.mark.parametrize(
    ("program", "scheme"), [(disagrees, "dark"), pytest.param(trained, "light", marks=pytest.mark.deep)]
)
def test_axe_finds_nothing_that_is_not_accessible(page, opened, inaccessible, program, scheme):
    tab = opened(page(program, 3, sources={"test_in_browser.py": Path(__file__).read_text("utf-8")}), scheme=scheme)
    for key in ("Home", "End", "e", "u"):
        tab.keyboard.press(key)
        assert inaccessible(tab) == []


def test_replicas_arrive_one_by_one(page, opened):
    tab = opened(page(trained, 3))
    tab.fill("#search input", "all_reduce MEAN")
    tab.keyboard.press("Enter")
    tab.keyboard.press("Escape")
    at = tab.inner_text("output.where")
    tab.keyboard.press("ArrowLeft")
    for arrived, missing in ((1, "replicas 1, 2"), (2, "replica 2")):
        tab.keyboard.press("Shift+ArrowRight")
        assert tab.inner_text("output.where") == at
        assert tab.url.endswith(f"&arrived={arrived}")
        assert f"{arrived} of 3: " in tab.inner_text("#caption")
        assert tab.inner_text("#caption").endswith(f"for {missing}.")
        assert tab.locator("#point tbody tr", has_text="has not arrived").count() == 3 - arrived
        marks = tab.locator(".row.current .cell").all_inner_texts()
        assert marks == [str(rank + 1) if rank < arrived else "" for rank in range(3)]
    tab.keyboard.press("Shift+ArrowRight")
    assert "arrived" not in tab.url
    assert tab.locator("#point", has_text="Additions in their order").count() == 1
    for arrived in (2, 1):
        tab.keyboard.press("Shift+ArrowLeft")
        assert tab.url.endswith(f"&arrived={arrived}")
    tab.keyboard.press("Shift+ArrowLeft")
    assert tab.inner_text("output.where") != at
    tab.get_by_role("button", name="arrivals one by one").click()
    tab.get_by_role("button", name="arrival ›").click()
    assert "arrived=2" in tab.url
    assert tab.inner_text("#variables").count("total") == 1
