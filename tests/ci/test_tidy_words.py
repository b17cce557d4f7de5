"""The words that the glossary refuses are refused where they are, and counted elsewhere."""

import re
from pathlib import Path

import pytest

from ci.tidy import repository
from ci.tidy.words import GLOSSARY, HEADING, Word, check_words, is_counted, is_enforced, tally, words_of

ROOT = Path(__file__).resolve().parents[2]
TABLE = f"# Glossary\n\n{HEADING}\n\nProse with a `bar`.\n\n| word | use instead |\n|---|---|\n"
ROWS = "| `\\btold\\b` | received |\n| `\\brooms?\\b` | package |\n| `\\bowns (?!memory)` | has |\n"
WORDS = words_of(TABLE + ROWS)[0]


def found(text):
    return [one.rule for one in check_words("simstrategy/data/x.py", text, WORDS)]


@pytest.mark.parametrize(
    "text",
    [
        "# It is told.",
        '"""Told what it is."""',
        "raise ValueError('you were told')",
        "told = 1",
        "self.room.x()",
        "number_of_rooms = 1",
        "class WaitingRoom:",
        "it owns a file",
    ],
)
def test_a_word_of_the_table_is_seen_in_comments_docstrings_messages_and_names(text):
    rules = found(f"x = 1\n{text}\n")
    assert len(rules) == 1
    assert "see docs/glossary.md" in rules[0]
    assert re.search("use (received|package|has)", rules[0])


@pytest.mark.parametrize("text", ["untold", "mushroom", "x = 'broom'", "owns memory", "Bathroom = 1"])
def test_a_part_of_a_longer_word_is_none(text):
    assert found(text) == []


def test_the_table_is_read_to_its_end_with_escaped_bars():
    words, wrong = words_of(TABLE + "| `a\\|b` | c |\n| `d` | e | more |\n\n## Another table\n| `f` | g |\n")
    assert wrong == []
    assert [(word.pattern.pattern, word.instead) for word in words] == [("a|b", "c"), ("d", "e")]


@pytest.mark.parametrize(
    ("glossary", "expected"),
    [
        ("# Glossary\n", "no part '## Words we do not use'"),
        (TABLE, "has no row with a word in backticks"),
        (TABLE + "| `a` | b |\n| `(` | b |\n", "'| `(` | b |' is no row"),
        (TABLE + "| `a` | b |\n| `a` |\n", "is no row"),
    ],
)
def test_a_glossary_without_a_table_that_can_be_read_is_a_violation(glossary, expected):
    wrong = words_of(glossary)[1]
    assert len(wrong) == 1
    assert expected in wrong[0].rule


def test_the_glossary_of_the_repository_has_the_table():
    words, wrong = words_of((ROOT / GLOSSARY).read_text(encoding="utf-8"))
    assert wrong == []
    assert len(words) > 20
    assert all(word.instead for word in words)


def test_the_glossary_has_at_most_40_terms_each_with_the_words_of_three_libraries():
    rows = re.findall(r"^\| \*\*([^*]+)\*\* \|(.+)\|$", (ROOT / GLOSSARY).read_text(encoding="utf-8"), re.MULTILINE)
    assert 30 <= len(rows) <= 40
    assert {len(re.split(r"(?<!\\)\|", rest)) for _, rest in rows} == {4}


def test_folders_are_refused_or_counted(monkeypatch):
    monkeypatch.setattr("ci.tidy.words.ENFORCED", ("simstrategy/data", "README.md"))
    assert is_enforced("simstrategy/data/x.py")
    assert is_enforced("README.md")
    assert not is_enforced("simstrategy/database/x.py")
    assert is_counted("simstrategy/run/x.py")
    assert not is_counted("ci/x.py")
    assert not is_counted(GLOSSARY)


def test_a_repository_is_refused_for_a_word_in_one_folder_and_not_in_another(tmp_path, monkeypatch):
    monkeypatch.setattr("ci.tidy.words.ENFORCED", ("simstrategy/data",))
    for folder in ("data", "run"):
        (tmp_path / "simstrategy" / folder).mkdir(parents=True)
        (tmp_path / "simstrategy" / folder / "x.py").write_text('"""Is told."""\n')
    (tmp_path / "docs").mkdir()
    (tmp_path / GLOSSARY).write_text(TABLE + "| `\\btold\\b` | received |\n")
    result = repository.check_repository(tmp_path)
    seen = [one for one in result.violations if one.file != repository.TABLE]
    assert [one.file for one in seen] == ["simstrategy/data/x.py"]
    assert [one.file for one in result.words] == ["simstrategy/run/x.py"]
    assert tally(result.words) == "simstrategy/run 1"


def test_words_are_looked_for_in_any_case():
    assert len(list(check_words("x.md", "TOLD told Told", [Word(WORDS[0].pattern, "x")]))) == 1
