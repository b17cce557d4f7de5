"""What is wrong with a bug.toml, and what the message names; how arguments of runs are made."""

import pytest
from small_corpus import write_bug

from simstrategy_corpus.cases import expanded
from simstrategy_corpus.reading import CorpusError, bugs, read_bug


def test_a_bug_has_the_lines_of_its_place_and_every_run(tmp_path):
    run = {"arguments": ["--rows", "{12//replicas}", "{steps}"], "vary": {"steps": [1, 3]}}
    folder = write_bug(tmp_path)
    text = (folder / "bug.toml").read_text().replace('launcher = "jax"', 'launcher = "torchrun"')
    (folder / "bug.toml").write_text(f"{text}\narguments = {run['arguments']}\nvary = {{ steps = [1, 3] }}\n")
    bug = read_bug(folder)
    assert bug.lines == (2,)
    assert [(one.replicas, one.arguments) for one in bug.wrong.runs] == [
        (1, ("--rows", "12", "1")),
        (1, ("--rows", "12", "3")),
        (2, ("--rows", "6", "1")),
        (2, ("--rows", "6", "3")),
    ]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"without": ["cause"]}, ["lacks cause", "Add"]),
        ({"sauce": "no"}, ["has sauce", "Known:"]),
        ({"symptom": ""}, ["symptom is ''", "Give a text"]),
        ({"laws": ["gravity"]}, ["laws is 'gravity'", "replicas"]),
        ({"laws": []}, ["laws is []", "at least one"]),
        ({"shows": "nothing"}, ["shows is 'nothing'", "runs differ"]),
        ({"kind": 3}, ["kind is 3", "mean of means"]),
        ({"place": ["print(1)"]}, ["no line of wrong.py is 'print(1)'"]),
        ({"run": {"launcher": "rocket"}}, ["launcher is 'rocket'", "torchrun"]),
        ({"run": {"replicas": [2.5]}}, ["replicas is [2.5]", "whole numbers"]),
        ({"run": {"replicas": [True]}}, ["replicas is [True]"]),
        ({"run": {"arguments": ["{rows}"]}}, ["{rows}", "'rows'", "Names: replicas"]),
        ({"run": {"arguments": ["{4//0}"]}}, ["{4//0}", "placeholder"]),
        ({"run": {"vary": 3}}, ["vary is 3", "table"]),
    ],
    ids=str,
)
def test_a_wrong_field_is_an_error_with_the_file_and_what_to_do(tmp_path, change, named):
    folder = write_bug(tmp_path, **change)
    with pytest.raises(CorpusError) as raised:
        read_bug(folder)
    assert all(text in str(raised.value) for text in ["bug.toml", *named]), raised.value


def test_a_file_that_is_missing_or_no_toml_is_named(tmp_path):
    folder = write_bug(tmp_path)
    (folder / "right.py").unlink()
    with pytest.raises(CorpusError, match=r"right\.py is missing"):
        read_bug(folder)
    (folder / "bug.toml").write_text("source = ")
    with pytest.raises(CorpusError, match=r"bug\.toml is no TOML"):
        read_bug(folder)
    (folder / "bug.toml").unlink()
    with pytest.raises(CorpusError, match=r"bug\.toml is missing"):
        read_bug(folder)
    with pytest.raises(CorpusError, match="is no folder"):
        bugs(tmp_path / "nowhere")


def test_a_run_that_is_no_table_is_named(tmp_path):
    folder = write_bug(tmp_path)
    (folder / "bug.toml").write_text((folder / "bug.toml").read_text().partition("[run]")[0] + "run = 3\n")
    with pytest.raises(CorpusError, match="run is no table"):
        read_bug(folder)


def test_placeholders_are_numbers_and_quotients():
    assert expanded("a{n}b{8//n}{m//n}", {"n": 2, "m": 7}) == "a2b43"
