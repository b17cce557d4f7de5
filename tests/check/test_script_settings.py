"""Arguments with expressions in braces, numbers in outputs, and which settings a script has.

Clauses: G-20, G-26, G-30, G-31.
"""

import re

import pytest
from typer.testing import CliRunner

from simstrategy.check.scripts import fronts
from simstrategy.check.scripts.fronts import front_named
from simstrategy.check.scripts.printed import numbers_in, pattern_of
from simstrategy.check.templates import filled, require_names
from simstrategy.cli.app import app_for
from simstrategy.errors import BackendUnavailable, InvalidArgument

VALUES = {"replicas": 4, "accumulate": 2, "mode": "fast"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{64//replicas}", "16"),
        ("--size={8 * (replicas + accumulate)}", "--size=48"),
        ("{-replicas % 3}", "2"),
        ("{(10 + replicas - 1) // replicas}", "3"),
        ("{mode}-{replicas}", "fast-4"),
        ('{{"lr": {replicas}}}', '{"lr": 4}'),
        ("plain", "plain"),
    ],
)
def test_an_expression_in_braces_stands_for_its_value(text, expected):
    assert filled([text], VALUES) == (expected,)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{replica}", "the name 'replica', and the names here are replicas, accumulate, mode"),
        ("{64/replicas}", "64 / replicas"),
        ("{2**replicas}", "2 ** replicas"),
        ("{__import__('os')}", "__import__('os')"),
        ("{1.5}", "1.5"),
        ("{True}", "True"),
        ("{}", "which is no expression"),
        ("{1+}", "which is no expression"),
        ("{", "a '{' that is alone"),
        ("{mode*2}", "mode, which is 'fast' and no whole number"),
        ("{8//(replicas-4)}", "divides by 0 with replicas=4"),
        ("{30//replicas}", "leaves a remainder with replicas=4"),
        ("{" + "1+" * 200 + "1}", "more than 200 characters"),
    ],
)
def test_what_is_no_arithmetic_of_whole_numbers_is_an_error_that_names_it(text, what):
    with pytest.raises(InvalidArgument, match=re.escape(what)):
        filled([text], VALUES)


def test_a_varied_name_that_no_argument_has_is_an_error():
    require_names(["--accumulate", "{2*accumulate}"], ["accumulate"])
    with pytest.raises(InvalidArgument, match=r"no argument of the script has: add for example -- --rate \{rate\}"):
        require_names(["{replicas}"], ["rate"])


def test_numbers_are_those_of_matching_lines_and_of_groups_where_there_are_any():
    output = "epoch 1 loss 0.50 at a2\nother 7\nepoch 2 loss -1e-3 nan\n"
    found = [(one.path, one.value.dtype.kind, float(one.value)) for one in numbers_in(output, pattern_of("^epoch"))]
    assert [value for _, _, value in found][:4] == [1.0, 0.5, 2.0, -0.001]
    assert [kind for _, kind, _ in found] == ["i", "f", "i", "f", "f"]
    assert found[3][0] == "printed['output'][1][1]"
    assert [float(one.value) for one in numbers_in(output, pattern_of(r"loss (\S+)"))] == [0.5, -0.001]
    assert [one.resolution for one in numbers_in("x 0.50 2e-3", pattern_of("x"))] == pytest.approx(
        [0.01, 1e-3], rel=2e-3
    )
    with pytest.raises(InvalidArgument, match="same-output takes a regular expression"):
        pattern_of("(")


def test_a_front_that_is_not_there_is_an_error_with_what_to_do(monkeypatch):
    monkeypatch.setattr(fronts, "entry_points", lambda group: ())
    with pytest.raises(BackendUnavailable, match=r"pip install \./backends/torch_distributed"):
        front_named("torchrun")
    with pytest.raises(InvalidArgument, match="There is no 'mpirun' that runs scripts: choose from python, torchrun"):
        front_named("mpirun")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--as", "torchrun", "--backends", "sim,torch"], "A script has no --backends"),
        (["--as", "torchrun", "--timeout", "5", "--function", "main"], "A script has no --function, --timeout"),
        (["--as", "mpirun"], "There is no 'mpirun'"),
        (["--", "--lr", "0.1"], "takes no arguments of the command line, got --lr 0.1"),
        (["--same-output", "loss"], "--same-output is for scripts"),
        (["--faults", "all"], "--faults is for scripts: add --as torchrun, or give --laws faults"),
        (["-m"], "--module is for scripts: add --as torchrun, or give the name of a file"),
        (["--as", "torchrun", "--faults", "fire"], "There is no fault 'fire': choose from exception, inf, input"),
    ],
)
def test_options_of_the_other_kind_of_program_end_with_2_and_a_text(tmp_path, options, text):
    file = tmp_path / "train.py"
    file.write_text("")
    ended = CliRunner().invoke(app_for(["check"]), ["check", str(file), *options])
    assert ended.exit_code == 2
    assert text in " ".join(ended.output.split())
