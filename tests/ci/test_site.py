"""What `ci/site` makes of docstrings and of the law, and which links of built pages it refuses."""

import pytest

pytest.importorskip("typer")

from ci.site.docstrings import Known, as_markup
from ci.site.insertions import commands, course, with_anchors
from ci.site.links import broken_links

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
    first = "(a-1)=\n**A-1** One\nclause. [Example](examples_of_clauses.md#a-1-a-3)."
    assert with_anchors(LAW, "### A-1, A-3\n") == f"## A\n\n{first}\n\n(a-2)=\n**A-2** Another one.\n"


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
