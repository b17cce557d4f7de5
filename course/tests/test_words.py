"""The words of the lessons' texts and hints are at most of level B2, but for terms, and for the words of words.toml.

The levels are those of cefrpy, which has them from CEFR-J and, for other words, from their frequency. It is for tests
alone.
"""

import re
import tomllib
from functools import cache
from pathlib import Path

import pytest
from lesson_pages import sentences

from ci.site.terms import terms_of
from simstrategy_course import failures, symptoms
from simstrategy_course.reading import lessons

cefrpy = pytest.importorskip("cefrpy")

ROOT = Path(__file__).resolve().parents[2]
EXCEPTIONS = tomllib.loads((Path(__file__).parent / "words.toml").read_text("utf-8"))
LEVELS = cefrpy.CEFRAnalyzer()
TERMS = terms_of(ROOT, "course/simstrategy_course/lessons/a lesson")
WORD = re.compile(r"[A-Za-z][a-z]+")


def texts():
    """Yields each text that a student reads: of the lessons, and of the hints."""
    for lesson in lessons():
        yield lesson.text
        yield from (one.hint for one in (*lesson.wrong, *lesson.rules, *lesson.questions))
        yield from (one.name for one in (*lesson.wrong, *lesson.rules))
        yield from (lesson.title, lesson.general, lesson.alone)
    yield from (text for one in symptoms.SYMPTOMS for text in (one.name, one.hint))
    yield from (text for row in failures.ENDED.values() for text in row)


@cache
def words():
    """Returns the words of all texts, without those of code and those that are part of a term."""
    found = set()
    for text in texts():
        for sentence in sentences(f"{text}\n"):
            of_terms = [range(begin, end) for begin, end, _ in TERMS.uses(sentence)]
            found |= {
                one[0].lower() for one in WORD.finditer(sentence) if not any(one.start() in term for term in of_terms)
            }
    return found


def above_b2(word):
    """Returns whether a word is above B2, or is not in the list."""
    level = LEVELS.get_average_word_level_CEFR(word)
    return level is None or level > cefrpy.CEFRLevel.B2


def test_words_of_texts_and_hints_are_at_most_of_level_b2():
    allowed = {word for kind in EXCEPTIONS.values() for word in kind["words"]}
    assert sorted(word for word in words() if above_b2(word) and word not in allowed) == []


def test_each_exception_is_used_once_and_has_a_reason():
    listed = [word for kind in EXCEPTIONS.values() for word in kind["words"]]
    assert len(listed) == len(set(listed))
    assert sorted(word for word in listed if not above_b2(word) or word not in words()) == []
    assert all(kind["reason"].endswith(".") for kind in EXCEPTIONS.values())


def test_a_word_of_another_level_would_be_seen():
    assert above_b2("ubiquitous")
    assert above_b2("idempotent")
    assert not above_b2("wrong")
