"""The lines that programs print, and how far two of them are from each other."""

import math

import pytest

from simstrategy_corpus.printed import distance, largest_distance, lines_of


def test_lines_are_found_by_name_and_rank():
    text = "result a 1.0 2\nnoise\nrank 1 b 3\nrank 0 b 4\nresult a 5\nresults c 1\n"
    assert lines_of(text, "result") == {"a": {0: ("1.0", "2", "5")}}
    assert lines_of(text, "rank") == {"b": {1: ("3",), 0: ("4",)}}
    assert lines_of(text, "epoch") == {}


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (["2.0"], ["2.0"], 0.0),
        (["0.0"], ["0.0"], 0.0),
        (["4.0", "0.001"], ["4.0", "0.002"], 0.00025),
        (["1.0"], ["nan"], math.inf),
        (["nan"], ["nan"], 0.0),
        (["1.0"], ["1.0", "1.0"], math.inf),
        (["True"], ["True"], 0.0),
        (["True"], ["False"], math.inf),
    ],
)
def test_distance_is_relative_to_the_largest_number(one, other, expected):
    assert distance(one, other) == pytest.approx(expected)


def test_runs_with_other_names_are_infinitely_far():
    assert largest_distance([{"a": ["1"]}, {"b": ["1"]}]) == math.inf
    assert largest_distance([{"a": ["1"]}, {"a": ["1"]}, {"a": ["2"]}]) == 0.5
