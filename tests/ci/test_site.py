"""What `ci/site` makes of docstrings and of the law, and which links of built pages it refuses."""

from pathlib import Path

import pytest

pytest.importorskip("typer")

from ci.site.docstrings import Known, as_markup
from ci.site.insertions import commands, course, with_anchors
from ci.site.links import broken_links
from ci.site.term_check import unlinked_terms
from ci.site.terms import Term, Terms, terms_of

ROOT = Path(__file__).resolve().parents[2]
LAW = "## A\n\n**A-1** One\nclause.\n\n**A-2** Another one.\n"


def markup(*lines, names=()):
    return as_markup([*lines], Known(frozenset(names), frozenset(["A-1"])))


def test_a_docstring_keeps_its_examples_and_names_in_code():
    found = markup("Returns `value` * 2.", "", ">>> f(1)", "2")
    assert found == [r"Returns \ ``value``\  \* 2.", "", ">>> f(1)", "2", ""]


def test_parameters_become_a_list_between_what_stands_before_and_after_them():
    text = "Sums them.  value: [batch, …] numbers. one, two: more. Raises InvalidType. Clauses: A-1, A-2."
    assert markup(text, names=["value", "one", "two"]) == [
        "Sums them.",
        "",
        "* **value**: [batch, …] numbers.",
        "* **one**, **two**: more.",
        "",
        "Raises InvalidType. Clauses: :ref:`A-1 <a-1>`, A-2.",
        "",
    ]


def test_a_word_before_a_colon_is_no_parameter_unless_the_function_has_it():
    assert markup("It is so: yes. note: x. two_words: y.", names=["two_words"]) == [
        "It is so: yes. note: x.",
        "",
        "* **two_words**: y.",
        "",
    ]


def test_a_clause_has_an_anchor_and_a_link_to_its_example():
    first = "(a-1)=\n**A-1** One\nclause. [Example](one.md#a-1-a-3)."
    assert (
        with_anchors(LAW, {"one.md": "### A-1, A-3\n", "other.md": "### B-1\n"})
        == f"## A\n\n{first}\n\n(a-2)=\n**A-2** Another one.\n"
    )


def test_every_command_is_in_the_reference_with_its_options():
    text = commands()
    assert text.startswith("## `simstrategy backends`")
    assert "## `simstrategy check`" in text
    assert "* `--replicas <str>`" in text


def test_lessons_are_in_the_table_of_contents_where_there_are_any(tmp_path):
    assert course(tmp_path, []) == ""
    assert "/course/lessons/one" in course(tmp_path, [tmp_path / "course" / "lessons" / "one.md"])


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('<a href="other.html#there">', None),
        ('<a href="https://example.org">', None),
        ('<a href="missing.html">', "leads to no file"),
        ('<a href="other.html#nowhere">', "leads to no place"),
        ('<a href="#nowhere">', "leads to no place"),
        ('<img src="https://example.org/a.png">', "without a network"),
        ('<script src="//example.org/a.js">', "without a network"),
    ],
)
def test_links_that_lead_nowhere_and_what_other_hosts_serve_are_found(tmp_path, body, problem):
    (tmp_path / "page.html").write_text(f"<p>{body}", encoding="utf-8")
    (tmp_path / "other.html").write_text('<p id="there">', encoding="utf-8")
    found = broken_links(tmp_path)
    assert [problem in one for one in found] == ([True] if problem else [])


def named(text, *names):
    return [(text[begin:end], term.name) for begin, end, term in Terms(Term(name, "page") for name in names).uses(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Replicas and a replica.", [("Replicas", "replica"), ("replica", "replica")]),
        ("A replica\nfunction of a replica", [("replica\nfunction", "replica function"), ("replica", "replica")]),
        ("strategies, batches", [("strategies", "strategy"), ("batches", "batch")]),
        ("the replica's batch", [("replica", "replica"), ("batch", "batch")]),
        ("per-replica, replicated, batched", []),
        ("all take part in it; this part; a part of a file", []),
        ("its part of the batch", [("part", "part"), ("batch", "batch")]),
    ],
)
def test_terms_are_found_in_their_forms_and_not_in_other_words(text, found):
    assert named(text, "replica", "replica function", "strategy", "batch", "part") == found


def test_the_words_of_a_subject_have_its_meaning_on_its_pages_alone():
    on_lessons, on_others = (
        {term.name for *_, term in terms_of(ROOT, page).uses("hole, replica, known wrong answer")}
        for page in ("course/simstrategy_course/lessons/00_first_run/lesson", "docs/testing_your_program")
    )
    assert on_lessons - on_others == {"hole"}
    assert on_others == {"replica", "known wrong answer"}


@pytest.mark.parametrize(
    ("body", "unlinked"),
    [
        ('<p><a href="g.html#term-replica">replica</a> and <em>replica</em></p>', []),
        ('<p>a <em>replica</em> and a <a href="g.html#term-replica">replica</a></p>', ["replica"]),
        ("<h2>replica</h2><code>rank</code><pre>rank</pre><dt>rank</dt><a href='x.html'>rank</a><br>", []),
        ("<code>replica</code> <img> a rank", ["rank"]),
        ('<a href="g.html#term-replica">replica</a> <a href="g.html#term-replica">rank</a> of a rank', ["rank"]),
    ],
)
def test_a_term_without_a_link_at_its_first_use_is_found(tmp_path, body, unlinked):
    (tmp_path / "page.html").write_text(f"<p>a replica</p><article>{body}</article><p>a rank</p>", encoding="utf-8")
    found = unlinked_terms(tmp_path, ROOT)
    assert [f"page.html: the first use of '{name}' is" in one for name, one in zip(unlinked, found, strict=True)] == [
        True for _ in unlinked
    ]
