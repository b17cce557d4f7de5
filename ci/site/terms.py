"""The terms of the glossary: where each is defined, on which pages it is meant, and its forms in a sentence.

Plurals and some forms of verbs are found, in small letters or with a capital. A word that stands in a phrase with
another meaning ("take part") is no use of the term.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["PAGES", "Term", "Terms", "defined", "has_links", "terms_of"]

_GLOSSARY = "docs/glossary"
_WITHOUT_LINKS = (_GLOSSARY, "docs/decisions/")  # a decision record has the words of its time
PAGES = {
    _GLOSSARY: ("",),
    "docs/pytorch": ("docs/pytorch", "docs/c10d", "docs/howto/from_pytorch_ddp"),
    "docs/estimator": ("docs/estimator", "docs/reference/losses_and_estimators"),
    "docs/playing": ("docs/playing",),
    "docs/course": ("docs/course", "course/"),
}
"""The pages that define terms. For each: how the names of those pages begin on which its words have this meaning. A
term of two words has it on every page."""

_ROW = re.compile(r"^\| \*\*([^*|]+)\*\* \|", re.MULTILINE)
_SPACE = r"\s+"  # between the words of a term, which may stand on two lines
_FORMS = {
    "leaf": "leaf",  # "leaves" is most often the verb
    "suspend": "suspend(?:s|ed)?",
    "shard": "shard(?:s|ed)?",
    "diverged": "diverged?s?",
}
_OTHERWISE = (
    r"[Tt](?:ake|akes|aking|ook|aken) part",
    r"(?:[Ii]n|[Tt]his|[Ww]hich|[Oo]ptional) parts?",
    r"[Pp]arts? (?:of|that a backend)(?! (?:(?:the|a|every|its) )?(?:global )?(?:data|batch|distributed))",
    r"(?:[Nn]otebook|[Bb]y|[Ww]ith) cells?",
    r"[Ee]ntry points? of the group",
    r"[Gg]roups of unclear",
    r"[Rr]uns nest",
    r"Trace Event",
    r"[Ff]ramework traces",
    r"[Ww]orkers of a DataLoader",
)
"""Phrases in which the words of terms have another meaning, or none."""
_OTHERWISE_ON = {"profile": ("docs/budgets", "docs/c10d", "docs/vendors", "docs/writing_a_backend")}
"""Pages on which the word of a term has another meaning: a profile of tests there."""


class Term(NamedTuple):
    """A term.  page: that defines it, without the suffix; anchor: of its row there."""

    name: str
    page: str

    @property
    def anchor(self) -> str:
        return "term-" + re.sub(r"[^a-z]+", "-", self.name)

    @property
    def pattern(self) -> str:
        """The regular expression of its forms."""
        *first, last = self.name.split(" ")
        expression = " ".join([*first, _FORMS.get(last) or _with_plural(last)])
        return f"[{expression[0].upper()}{expression[0]}]{expression[1:]}"


def _with_plural(word: str) -> str:
    if word.endswith("y") and word[-2] not in "aeiou":
        return f"{word[:-1]}(?:y|ies)"
    plural = "es" if word.endswith(("ch", "sh", "s", "x")) else "s"
    return f"{word}(?:{plural})?"


class Terms:
    """The terms that a page may use."""

    def __init__(self, terms: Iterable[Term]) -> None:
        self._terms = sorted(terms, key=lambda term: -len(term.name))  # of two that fit, the longer one is meant
        words = "|".join([*_OTHERWISE, *(f"({term.pattern})" for term in self._terms)])
        self._words = re.compile(rf"(?<![\w-])(?:{words.replace(' ', _SPACE)})(?![\w-])")

    def uses(self, text: str) -> Iterator[tuple[int, int, Term]]:
        """Yields begin, end and term of each use in a text."""
        for found in self._words.finditer(text):
            if found.lastindex is not None:
                yield found.start(), found.end(), self._terms[found.lastindex - 1]


def has_links(name: str) -> bool:
    """Returns whether the terms of a page are links.  name: of the page, without the suffix."""
    return not name.startswith(_WITHOUT_LINKS)


def terms_of(root: Path, name: str) -> Terms:
    """Returns the terms of a page.  root: of the repository; name: of the page, without the suffix."""
    return Terms(
        term
        for defining, prefixes in PAGES.items()
        for term in defined(defining, (root / f"{defining}.md").read_text(encoding="utf-8"))
        if (" " in term.name or name.startswith(prefixes)) and name not in _OTHERWISE_ON.get(term.name, ())
    )


def defined(page: str, text: str) -> list[Term]:
    """Returns the terms whose rows a page has.  text: of the page, in Markdown."""
    return [Term(name, page) for name in _ROW.findall(text)]
