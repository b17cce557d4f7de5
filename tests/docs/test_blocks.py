"""Every code block of the README and of docs/ is run here, or states what runs it, or why nothing does."""

import re

import pytest

pytest.importorskip("typer")

from block_runs import PageRun
from blocks import PAGES, ROOT, blocks_of, prose_of, runners_of

WITH_BLOCKS = {page.relative_to(ROOT).as_posix(): page for page in PAGES if blocks_of(page)}
MARKS = ("not run: ", "run by ")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, page in WITH_BLOCKS.items() if any(b.is_run for b in blocks_of(page))])
def test_the_blocks_of_a_page_do_what_it_states(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = PageRun(tmp_path)
    for block in blocks_of(WITH_BLOCKS[name]):
        if block.is_run:
            run.run(block)
    assert run.unused() == [], "these files are saved, and no command of the page uses them"


@pytest.mark.parametrize("name", WITH_BLOCKS)
def test_a_block_that_is_not_run_here_names_what_runs_it_or_the_reason(name):
    for block in blocks_of(WITH_BLOCKS[name]):
        assert block.is_run or block.mark.startswith(MARKS), f"{block}: {block.mark}"
        assert block.mark != "not run: ", f"{block}: give the reason"
        for file in runners_of(block):
            assert block.page.name in file.read_text(encoding="utf-8"), f"{block}: {file} does not read the page"


def test_no_block_is_written_in_a_way_that_is_not_read():
    unread = re.compile(r"^ *(?:```|~~~)", re.MULTILINE)  # such as one that is indented
    assert [page.name for page in PAGES if unread.search(prose_of(page))] == []


def test_marks_for_a_language_name_one_that_the_page_has():
    for page in PAGES:
        languages = {block.language for block in blocks_of(page)}
        marked = {line.split()[1] for line in page.read_text("utf-8").splitlines() if " blocks run by " in line}
        assert marked <= languages, page
