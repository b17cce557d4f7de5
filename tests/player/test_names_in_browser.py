"""What names of a script hold, in Chromium: where replicas differ, and what stands first."""

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.errors import ReplicasDisagree
from simstrategy.player import PlayedRun, as_player
from simstrategy.trace.recording import HOLDS

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SOURCE = "".join(f"line {number}\n" for number in range(1, 60))


def site(line):
    return "/home/user/train.py", line


def stopped(*, before=40):
    """Returns a run of a script whose ranks make different calls, since one of them has stopped."""
    recorder = ss.trace.Recorder()
    recorder.describe(replicas=2, workers=1, order="linear", arrivals="not recorded")
    recorder.wrote(0, None, "rank", HOLDS, (), [np.int64(0), np.int64(1)], site(1))
    for number in range(before):
        recorder.wrote(0, None, f"setting {number}", HOLDS, (), [np.int64(number)] * 2, site(2))
    recorder.wrote(0, None, "stop", HOLDS, (), [np.int64(0)] * 2, site(36))
    recorder.wrote(0, 0, "stop", HOLDS, (), [np.int64(1)], site(38))
    depth = recorder.depth(0)
    request = ss.trace.Request("barrier", None, None, None, None, ())
    lines = ["rank 0: barrier at train.py:42", "rank 1: all_reduce SUM float32[] at train.py:31"]
    recorder.begin(0, request, [0, 1], [site(42), site(31)], [(), ()], lines)
    error = (ReplicasDisagree.__name__, "Ranks make different collective calls here.")
    recorder.leave(0, depth, error=error)
    recorder.ended(0, [], error)
    recorder.close()
    return recorder.recording()


@pytest.fixture
def script(tmp_path):
    file = tmp_path / "page.html"
    file.write_text(as_player("script", [PlayedRun("2 replicas", stopped(), {"train.py": SOURCE})]), "utf-8")
    return file


def test_variables_whose_values_differ_stand_first_at_every_event(script, opened):
    tab = opened(script, "#at=44")
    names = tab.locator("#variables h3").all_inner_texts()
    assert [name.split()[0] for name in names[:3]] == ["stop", "rank", "setting"]
    box, first = (tab.locator(one).first.bounding_box() for one in ("#variables", "#variables h3"))
    assert box["y"] <= first["y"] <= box["y"] + 60
    assert tab.locator("#variables li").all_inner_texts()[:2] == ["replica 0: int64[] 1", "replica 1: int64[] 0"]
    tab.keyboard.press("Home")
    assert tab.inner_text("#variables h3").startswith("rank")


def test_a_value_of_one_replica_is_marked_and_stated_beside_that_of_the_other(script, opened):
    tab = opened(script, "#at=43")
    assert tab.locator(".row.current .cell").all_inner_texts() == ["≠", ""]
    assert tab.inner_text("#caption") == "After train.py:38 has run, stop is 1 on replica 0; replica 1 has 0."
    assert tab.locator("#point tbody td").all_inner_texts() == ["int64[] 1", "int64[] 0 since before"]
    tab.keyboard.press("ArrowLeft")
    assert tab.locator(".row.current .cell").all_inner_texts() == ["=", "="]
    tab.keyboard.press("Home")
    assert tab.locator(".row.current .cell").all_inner_texts() == ["≠", "≠"]


def test_the_jump_to_the_cause_leads_to_the_disagreement_and_marks_its_lines(script, opened):
    tab = opened(script, "#at=2")
    cause = tab.get_by_role("button", name="cause", exact=True)
    assert cause.get_attribute("title") == "where the replicas disagree: 1 in this page; key c"
    lines = tab.locator(".line.cause .number")
    assert lines.all_inner_texts() == ["31", "42"]
    tab.keyboard.press("c")
    assert "do not all make the same call here" in tab.inner_text("#caption")
    assert lines.all_inner_texts() == ["31", "42"]
    assert tab.locator(".line.current .signs").all_inner_texts() == ["◆▶"] * 2


def test_a_page_whose_runs_drew_no_data_has_no_view_of_it_and_no_jump_to_unequal_parts(script, opened, page):
    tab = opened(script)
    assert not tab.locator("section.parts").is_visible()
    assert tab.get_by_role("button", name="unequal parts").count() == 0
    before = tab.url
    tab.keyboard.press("u")
    assert tab.url == before
    drawing = opened(page(draws))
    assert drawing.locator("section.parts").is_visible()
    assert drawing.get_by_role("button", name="unequal parts").count() == 1


def draws(strategy):
    next(iter(strategy.experimental_distribute_dataset(ss.data.Dataset.range(4).batch(2))))


def test_a_curve_has_its_least_and_its_greatest_value_beside_it(opened, tmp_path):
    recorder = ss.trace.Recorder()
    recorder.describe(replicas=2, workers=1, order="linear", arrivals="not recorded")
    for value in (0.5, 0.125, 4.0):
        recorder.wrote(0, None, "loss", HOLDS, (), [np.float32(value), np.float32(value + 1)], site(1))
    recorder.close()
    file = tmp_path / "page.html"
    file.write_text(as_player("curve", [PlayedRun("run", recorder.recording(), {})]), "utf-8")
    assert opened(file).inner_text(".curve .form") == "0.125 to 5.0"


def test_titles_of_jumps_state_what_is_compared(page, opened):
    def program(strategy):
        own = {"synchronization": ss.VariableSynchronization.ON_READ, "trainable": False}
        with strategy.scope():
            count = ss.Variable(np.float32(0), aggregation=ss.VariableAggregation.SUM, name="count", **own)
        strategy.run(lambda: count.assign(np.float32(ss.get_replica_context().replica_id_in_sync_group)))

    tab = opened(page(program))
    tab.keyboard.press("End")
    assert tab.inner_text("#variables h3") == "count values differ between replicas"
    titles = {name: tab.get_by_role("button", name=name).get_attribute("title") for name in ("divergence", "value not")}
    assert titles["divergence"].startswith("No variable whose components have to be equal on all replicas ended")
    assert "Infinite values that variables and names begin with are not counted" in titles["value not"]
    assert tab.inner_text("output.where").startswith("event ")


LONG = """class Average:
    def __init__(self, name):
        self.state = ss.Variable(
            synchronization=ss.VariableSynchronization.ON_READ,
                    aggregation=ss.VariableAggregation.ONLY_FIRST_REPLICA,
            self.state.assign(DECAY * self.state.value() + (1 - DECAY) * value)  # of all replicas
"""

ROWS = """
() => [...document.querySelectorAll("#source .line code")].map((code) => {
  const rows = [];
  const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    for (let at = 0; at < node.length; at += 1) {
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, at + 1);
      const { top } = range.getBoundingClientRect();
      if (!rows.length || Math.abs(rows.at(-1).top - top) > 4) rows.push({ top, text: "" });
      rows.at(-1).text += node.data[at];
    }
  }
  return rows.map(({ text }) => text);
})
"""


@pytest.mark.parametrize("width", [360, 900, 1600])
def test_a_long_line_of_the_source_is_continued_after_a_word_or_a_sign_and_begins_in_its_first_row(
    opened, tmp_path, width
):
    file = tmp_path / "page.html"
    file.write_text(as_player("long", [PlayedRun("run", stopped(before=0), {"train.py": LONG})]), "utf-8")
    tab = opened(file, "#at=1", width=width, height=740)
    rows = tab.evaluate(ROWS)
    assert ["".join(each) for each in rows] == LONG.splitlines()
    assert width > 360 or sum(map(len, rows)) > len(rows) + 4
    assert [each for each in rows if not each[0].strip()] == []
    ends = {row[-1] for each in rows for row in each[:-1]}
    assert ends <= set(" .([{,=:/")


def test_the_bar_takes_less_than_a_third_of_a_narrow_window(script, opened):
    tab = opened(script, width=360, height=740)
    assert tab.locator("#player").bounding_box()["height"] < 740 / 3
    for name in ("first", "back", "forward", "last", "cause"):
        box = tab.get_by_role("button", name=name, exact=name == "cause").bounding_box()
        assert min(box["width"], box["height"]) >= 24
    assert not tab.get_by_role("button", name="divergence").is_visible()
