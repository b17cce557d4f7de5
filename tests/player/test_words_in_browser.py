"""Words of a page and their meanings in Chromium: kinds of causes and columns of the report; terms of the player."""

import re
from pathlib import Path

import numpy as np
import pytest
from shares import one_in

import simstrategy as ss
from simstrategy.check.formats import as_page, played
from simstrategy.check.formats.words import KIND_MEANINGS
from simstrategy.check.outcome import run_program
from simstrategy.player import PlayedRun, as_player

pytestmark = [pytest.mark.browser, pytest.mark.slow]

context = ss.get_replica_context


def mean_of_means(strategy):
    def step(rows):
        return context().all_reduce("MEAN", context().xp.sum(rows) / max(rows.shape[0], 1))

    rows = ss.data.Dataset.from_tensor_slices(np.arange(10, dtype=np.float32)).batch(5)
    parts = strategy.experimental_distribute_dataset(rows)
    return [strategy.experimental_local_results(strategy.run(step, args=(part,)))[0] for part in parts]


@pytest.fixture(scope="module")
def failed(tmp_path_factory):
    """The page of a check that has one cause with 2, 3 and 4 replicas."""
    report = ss.check(mean_of_means, replicas=[1, 2, 3, 4])
    file = tmp_path_factory.mktemp("page") / "check.html"
    file.write_text(as_page(report, played(report)), "utf-8")
    return file


def test_one_card_leads_to_the_run_of_each_number_of_replicas(failed, opened):
    tab = opened(failed)
    assert tab.locator(".report h3").all_inner_texts() == ["replicas: sim, 2, 3 and 4 replicas against 1"]
    links = tab.locator(".report p a", has_text="See it below")
    assert links.count() == 3
    for place in range(3):
        assert links.nth(place).is_visible()
        links.nth(place).click()
        tab.wait_for_url(re.compile(rf"#run={place + 2}&at=\d+$"))
        note = tab.locator(".note", has_text=f"{place + 2} replicas against 1 replica")
        note.wait_for()
        assert note.inner_text().startswith(f"Cause {place + 1} of 3 in all runs. The line of the cause is ")
        tab.evaluate("scrollTo(0, 0)")


@pytest.mark.parametrize("where", [".report p", ".note"])
def test_a_kind_leads_to_its_meaning_and_the_position_stays(failed, opened, where):
    tab = opened(failed)
    tab.keyboard.press("c")
    caption = tab.inner_text("#caption")
    word = tab.locator(f"{where} a.term")
    assert (word.inner_text(), word.get_attribute("title")) == ("mean of means", KIND_MEANINGS["mean of means"])
    word.click()
    tab.wait_for_url(re.compile("#kind-mean-of-means$"))
    box = tab.locator("dt:target").bounding_box()
    assert 0 <= box["y"] <= 900 - box["height"]
    assert tab.inner_text("#caption") == caption
    assert tab.locator("dt:target + dd").inner_text() == KIND_MEANINGS["mean of means"]


def test_a_page_that_is_opened_at_a_word_shows_its_meaning(failed, opened):
    tab = opened(failed, "#kind-mean-of-means", width=360, height=500)
    box = tab.locator("#kind-mean-of-means").bounding_box()
    assert 0 <= box["y"] <= 500 - box["height"]
    assert tab.locator(".note").count() == 1


@pytest.mark.parametrize("width", [360, 1600])
def test_the_columns_of_the_table_are_named_and_nothing_is_wider_than_the_window(failed, opened, width):
    tab = opened(failed, width=width, height=740)
    tab.locator("summary", has_text="all rows").click()
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    cells = tab.locator(".report tbody tr").first.locator("td")
    named = tab.evaluate("(cell) => getComputedStyle(cell, '::before').content", cells.first.element_handle())
    assert named == ('"law: "' if width == 360 else "none")
    assert tab.locator(".report thead").is_visible() == (width > 360)
    boxes = [cells.nth(place).bounding_box() for place in range(6)]
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= width for box in boxes)
    assert [
        one for one in ("law", "backend", "values", "trace") if not tab.locator(f"#column-{one} + dd").is_visible()
    ] == []


TEXT = Path(__file__).read_text("utf-8")
UNNAMED = "_".join(["Variable", "0"])
"""This name stands nowhere in this file."""


def line_of(text):
    return f"{Path(__file__).name}:{TEXT[: TEXT.index(text)].count(chr(10)) + 1}"


def two_variables(strategy):
    with strategy.scope():
        weight = ss.Variable(np.float32(0), aggregation=ss.VariableAggregation.SUM)  # the first
        ss.Variable(np.float32(0), name="bias")  # the second
    strategy.run(lambda: weight.assign_add(np.float32(1)))


@pytest.fixture
def variables(record, tmp_path):
    file = tmp_path / "page.html"
    file.write_text(as_player("page", [PlayedRun("run", record(two_variables), {Path(__file__).name: TEXT})]), "utf-8")
    return file


def test_a_variable_leads_to_the_line_that_made_it_with_its_text_where_its_name_is_not_in_the_program(
    variables, opened
):
    tab = opened(variables, width=360, height=740)
    tab.keyboard.press("End")
    first, second = tab.locator("#variables .variable").all()
    assert first.locator("h3").inner_text().startswith(UNNAMED)
    made = [one.locator("p.form").first.inner_text() for one in (first, second)]
    assert made[0].startswith(f"is made at {line_of('# the first')}: weight = ss.Variable(")
    assert made[1] == f"is made at {line_of('# the second')}"
    first.get_by_role("button", name=line_of("# the first")).click()
    assert "# the first" in tab.inner_text(".line.named code")
    box = tab.locator(".line.named").bounding_box()
    assert 0 <= box["y"] <= 740 - box["height"]


def test_a_write_has_the_line_of_its_variable(variables, opened):
    tab = opened(variables, "#at=4")
    assert tab.inner_text("#point .request") == f"assign_add {UNNAMED} SUM"
    assert f"{UNNAMED} is made at {line_of('# the first')}" in tab.inner_text("#point")


def raises_later(strategy):
    strategy.run(lambda: context().all_reduce("SUM", np.float32(6) / context().num_replicas_in_sync))
    if strategy.num_replicas_in_sync == 3:
        raise ValueError("shard 3")  # the error


@pytest.mark.parametrize("width", [360, 1600])
def test_a_run_that_ended_with_an_error_states_it_in_place_of_a_first_difference(tmp_path, opened, width):
    runs = []
    for count in (1, 3):
        recorder = ss.trace.Recorder(root=str(Path(__file__).parent))
        outcome = run_program(raises_later, ss.Strategy.mirrored("sim", replicas=count, trace=recorder), recorder)
        assert (outcome.error is None) == (count == 1)
        recorder.close()
        runs.append(PlayedRun(f"{count} replicas", recorder.recording(), {Path(__file__).name: TEXT}))
    file = tmp_path / "page.html"
    file.write_text(as_player("page", runs, start=(1, 0)), "utf-8")
    tab = opened(file, width=width, height=740)
    text = f"This run ended with ValueError: shard 3 (at {line_of('# the error')}). Up to there no call"
    jump = tab.locator("#bar .jumps button", has_text="first difference")
    assert jump.is_disabled()
    assert jump.get_attribute("title").startswith(f"3 replicas: {text}")
    tab.keyboard.press("e")
    beside = tab.locator(".beside")
    assert (
        beside.locator("h3").first.inner_text()
        == "No first difference from the run with 1 replicas: an error comes before one"
    )
    assert text in beside.inner_text()
    beside.get_by_role("button", name=line_of("# the error")).click()
    assert "# the error" in tab.inner_text(".line.named code")
    box = tab.locator(".line.named").bounding_box()
    assert 0 <= box["y"] <= 740 - box["height"]


@pytest.mark.parametrize("width", [360, 1600])
def test_the_terms_of_the_player_have_their_meanings_in_a_list(failed, opened, width):
    tab = opened(failed, "#run=2&at=1", width=width, height=740)
    assert tab.locator("#terms dt").count() == 0  # made when it is asked for
    tab.keyboard.press("t")
    words = tab.locator("#terms dt").all_inner_texts()
    assert words[:3] == ["replica", "worker", "event"]
    assert tab.locator("#terms dt").first.bounding_box()["y"] >= 0
    assert len(set(words)) == len(words)
    assert all(text.endswith(".") for text in tab.locator("#terms dd").all_inner_texts())
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    tab.keyboard.press("?")  # no other list over it
    assert not tab.locator("#help").is_visible()
    tab.keyboard.press("Escape")
    tab.get_by_role("button", name="terms", exact=True).click()
    assert tab.locator("#terms dt").count() == len(words)


@pytest.mark.parametrize("scheme", one_in(2, ["light", "dark"]))
def test_axe_finds_nothing_that_is_not_accessible_in_a_card_and_in_the_list_of_terms(
    failed, opened, inaccessible, scheme
):
    for width in (360, 1600):
        tab = opened(failed, "#kind-mean-of-means", scheme=scheme, width=width)
        assert inaccessible(tab) == []
        tab.evaluate("document.querySelector('#player').scrollIntoView()")
        tab.keyboard.press("t")
        assert inaccessible(tab) == []


def test_facts_and_columns_of_the_player_have_their_meanings_as_titles(failed, opened):
    tab = opened(failed, "#run=2&at=1")
    tab.keyboard.press("c")
    for place in ("#facts b", "#point .wide thead th"):
        titles = {one.inner_text(): one.get_attribute("title") for one in tab.locator(place).all()}
        assert len(titles) > 3
        assert {name for name, title in titles.items() if not title} <= {"replica", "line", "element 0"}
