"""Words of a page and their meanings in Chromium: kinds of causes and columns of the report; terms of the player."""

import re

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.check.formats import as_page, played
from simstrategy.check.formats.words import KIND_MEANINGS

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
    assert tab.locator(".report h3").all_inner_texts() == ["replicas: sim, 2, 3 and 4 replicas against 1, InOrder()"]
    links = tab.locator(".report p a", has_text="See it below")
    assert links.count() == 3
    for place in range(3):
        assert links.nth(place).is_visible()
        links.nth(place).click()
        tab.wait_for_url(re.compile(rf"#run={place + 2}&at=\d+$"))
        assert f"{place + 2} replicas against 1 replica" in tab.inner_text(".note")
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
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    cells = tab.locator(".report tbody tr").first.locator("td")
    named = tab.evaluate("(cell) => getComputedStyle(cell, '::before').content", cells.first.element_handle())
    assert named == ('"law "' if width == 360 else "none")
    assert tab.locator(".report thead").is_visible() == (width > 360)
    boxes = [cells.nth(place).bounding_box() for place in range(6)]
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= width for box in boxes)
    assert [
        one for one in ("law", "backend", "values", "trace") if not tab.locator(f"#column-{one} + dd").is_visible()
    ] == []
