"""A script that makes a MirroredStrategy itself is a program as a whole.  Clauses: J-116."""

import ast
import sys
from types import ModuleType

import pytest

from simstrategy.check.annotations import foreign_annotation
from simstrategy.check.executed.mirrored import makes_mirrored
from simstrategy.check.outcome import program_name
from simstrategy.check.programs import load_program
from simstrategy.errors import InvalidArgument

SCRIPT = """\
import sys
import tensorflow as tf
from beside_the_script import FOUND

def main():
    strategy = tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"])
    FOUND.append((strategy, __name__, __file__, sys.argv[1:], sys.modules["__main__"].main is main))
    END

if __name__ == "__main__":
    main()
"""


@pytest.fixture
def script(tmp_path, monkeypatch):
    """Returns a function that makes a program of a script, and what its runs found."""
    monkeypatch.setitem(sys.modules, "tensorflow", ModuleType("tensorflow"))
    beside = ModuleType("beside_the_script")
    beside.FOUND = []
    monkeypatch.setitem(sys.modules, "beside_the_script", beside)
    monkeypatch.setattr(sys, "path", [*sys.path])
    file = tmp_path / "train.py"

    def made(text=SCRIPT, **parts):
        for name, value in parts.items():
            text = text.replace(name, value)
        file.write_text(text)
        return load_program(file)

    return made, beside.FOUND, file


@pytest.mark.parametrize("end", ["pass", "sys.exit()", "raise SystemExit(0)"])
def test_each_run_executes_the_script_with_the_strategy_of_the_run(script, end):
    made, found, file = script
    program, before = made(END=end), sys.modules["__main__"]
    assert found == []  # nothing has run yet
    arguments = sys.argv
    assert [program("one"), program("two")] == [None, None]
    assert found == [(one, "__main__", str(file), [], True) for one in ("one", "two")]
    assert sys.modules["__main__"] is before
    assert sys.argv is arguments
    assert program_name(program) == "train.py"
    annotation = foreign_annotation(program)
    assert annotation is not None
    assert annotation.package == "tensorflow"


def test_what_a_script_raises_is_raised_at_its_line(script):
    made, _, file = script
    with pytest.raises(ZeroDivisionError) as raised:
        made(END="1 / 0")("strategy")
    assert (str(raised.traceback[-1].path), raised.traceback[-1].lineno + 1) == (str(file), 8)
    with pytest.raises(SystemExit):
        made(END="sys.exit(3)")("strategy")


def test_a_script_that_makes_no_strategy_in_a_run_is_an_error(script):
    made, found, _ = script
    program = made("import tensorflow as tf\nif False:\n    tf.distribute.MirroredStrategy()\n")
    with pytest.raises(InvalidArgument, match=r"train.py made no MirroredStrategy in this run"):
        program("strategy")
    assert found == []


@pytest.mark.parametrize(
    ("text", "is_made"),
    [
        ("import tensorflow as tf\ntf.distribute.MirroredStrategy()", True),
        ("import tensorflow.compat.v2 as tf\ntf.distribute.MirroredStrategy(devices=[])", True),
        ("from tensorflow import distribute as d\nd.MirroredStrategy()", True),
        ("from tensorflow.python.distribute.mirrored_strategy import MirroredStrategy as M\nM()", True),
        ("import tensorflow as tf\nprint(tf.distribute.MirroredStrategy)", False),
        ("import tensorflow as tf\ntf.distribute.TPUStrategy()", False),
        ("import tensorflow as tf\nMirroredStrategy()", False),
        ("import torch\nimport tensorflow as tf\ntf.distribute.MirroredStrategy()", False),
        ("from own import MirroredStrategy\nMirroredStrategy()", False),
    ],
)
def test_a_script_is_known_by_the_call_of_the_class(text, is_made):
    assert makes_mirrored(ast.parse(text)) is is_made


def test_a_function_of_another_name_is_asked_for_by_its_name_alone(script):
    made, _, file = script
    made()
    with pytest.raises(InvalidArgument, match=r"defines no function train\(strategy\)"):
        load_program(file, "train")
