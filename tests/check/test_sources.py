"""A script is refused by its text, before it trains.  Clauses: J-109, J-113."""

import pytest

from simstrategy.check.programs import load_program, require_launched
from simstrategy.check.sources import lacks, parsed, strategy_of
from simstrategy.errors import InvalidArgument

SCRIPT = """\
from pathlib import Path
Path("trained").write_text("for hours")
import tensorflow as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
"""


def test_a_script_without_the_function_is_refused_before_it_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "trains.py"
    file.write_text(SCRIPT)
    with pytest.raises(InvalidArgument, match=r"defines no function program.*Move what the script does into"):
        load_program(file)
    assert not (tmp_path / "trained").exists()


@pytest.mark.parametrize(
    "text",
    [
        "def program(strategy): return 1",
        "if True:\n    program = print",
        "from math import cos as program",
        "from os import *",
        "globals()['pro' + 'gram'] = print",
        "exec('def pro' + 'gram(strategy): return 1')",
        "import builtins\nbuiltins.exec('def pro' + 'gram(strategy): return 1')",
        "run = eval\nrun('1')",
        "import sys\nsys.modules[__name__].program = print",
        "for program in (print,): pass",
        "match print:\n    case program: pass",
        "with open('x') as program: pass",
        "no Python",
    ],
)
def test_a_file_that_may_define_the_function_is_run(text):
    assert not lacks(parsed(text.encode()), "program")


def test_a_file_that_names_the_function_in_a_comment_alone_lacks_it():
    assert lacks(parsed(b"'''A program of TensorFlow.'''  # program\nmain = print"), "program")


def test_a_model_that_is_put_to_eval_defines_no_names():
    """So a script of flax.nnx is executed whole, and one of torch is refused before it trains."""
    assert lacks(parsed(b"import jax\nmodel.eval()\nengine.exec(model.eval)"), "program")


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("import tensorflow as tf\ns = tf.distribute.MirroredStrategy(['GPU:0'])", "tf.distribute.MirroredStrategy"),
        ("from tensorflow import distribute\ndistribute.MultiWorkerMirroredStrategy()", "distribute.Multi.*"),
        ("import tensorflow as tf\nprint(tf.distribute.get_strategy())", None),
        ("import torch\nimport tensorflow as tf\ntf.distribute.MirroredStrategy()", None),
        ("from torch import nn\nimport tensorflow as tf\ntf.distribute.MirroredStrategy()", None),
        ("no Python", None),
    ],
)
def test_a_script_of_tf_distribute_is_known_by_the_strategy_that_it_makes(text, made):
    found = strategy_of(parsed(text.encode()))
    assert found is None if made is None else found is not None and found.startswith(made.removesuffix(".*"))


def test_a_launcher_of_ranks_does_not_start_a_script_of_tf_distribute(tmp_path):
    file = tmp_path / "train.py"
    file.write_text(SCRIPT)
    with pytest.raises(
        InvalidArgument, match=r"makes its tf\.distribute\.MultiWorkerMirroredStrategy itself.*Leave --as out"
    ):
        require_launched(file, "python")
    for text in (
        "import tensorflow as tf\ntf.distribute.MirroredStrategy()",
        "from tensorflow import d\nd.MirroredStrategy()",
    ):
        file.write_text(text)
        with pytest.raises(InvalidArgument, match=r"To check it whole, leave --as out: simstrategy check .*train.py"):
            require_launched(file, "python")
    require_launched(tmp_path / "missing.py", "python")  # which the launcher names
    file.write_text("import torch\n")
    require_launched(file, "torchrun")
