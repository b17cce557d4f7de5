"""Loading a program from a file, and outcomes on their way between processes.

Clauses: J-109.
"""

import sys

import numpy as np
import pytest

from simstrategy.check.outcome import Outcome
from simstrategy.check.processes import load_outcome, run_in_processes, save_outcome
from simstrategy.check.programs import load_program
from simstrategy.errors import BackendUnavailable, InvalidArgument, PeerFailed
from simstrategy.strategy import Semantics
from simstrategy.trace import Event


@pytest.fixture
def clean_path(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith(("simstrategy_program_", "beside_it")):
            del sys.modules[name]


def test_a_program_is_loaded_with_its_folder_importable(tmp_path, clean_path):
    (tmp_path / "beside_it.py").write_text("ANSWER = 42\n")
    file = tmp_path / "lesson.py"
    file.write_text("import beside_it\ndef program(strategy): return beside_it.ANSWER\ndef other(strategy): return 1\n")
    assert load_program(file)(None) == 42
    assert load_program(str(file), "other")(None) == 1


@pytest.mark.parametrize("sign", ["import jax", "tf.distribute", "init_process_group"])
def test_a_script_without_the_function_is_refused_before_it_runs(tmp_path, clean_path, sign):
    file = tmp_path / "script.py"
    file.write_text(f"TEXT = {sign!r}\n1 / 0\n")
    with pytest.raises(InvalidArgument, match=r"defines no function program\(strategy\)"):
        load_program(file)


@pytest.mark.parametrize(
    "lines",
    [
        "def program(mesh): return 7",
        "program = lambda mesh: 7",
        "for program in [lambda mesh: 7]: pass",
        "from beside_it import program",
        "from beside_it import other as program",
        "from beside_it import *",
        "globals()['pro' + 'gram'] = lambda mesh: 7",
        "exec('pro' + 'gram = lambda mesh: 7')",
    ],
)
def test_a_function_that_a_script_binds_in_any_way_is_found(tmp_path, clean_path, lines):
    (tmp_path / "beside_it.py").write_text("def program(mesh): return 7\nother = program\n")
    file = tmp_path / "script.py"
    file.write_text(f"TEXT = 'import jax'\n{lines}\n")
    assert load_program(file)(None) == 7


def test_a_missing_file_or_function_is_refused_with_advice(tmp_path, clean_path):
    with pytest.raises(
        InvalidArgument, match=r"There is no file at .*missing.py'. Give a Python file that defines program"
    ):
        load_program(tmp_path / "missing.py")
    file = tmp_path / "empty_lesson.py"
    file.write_text("program = 5\n")
    for function in ("program", "train"):
        with pytest.raises(InvalidArgument, match=rf"defines no function {function}\(strategy\)"):
            load_program(file, function)
    file.write_text("def main():\n    torch.distributed.init_process_group('gloo')\n")
    with pytest.raises(InvalidArgument, match=r"\. To check it .* simstrategy check --as torchrun .*lesson\.py$"):
        load_program(file)
    for script, parameter in (
        ("made = 'tf.distribute.MirroredStrategy'\n", "strategy: tf.distribute.Strategy"),
        ("text = 'import jax'\n", "mesh: jax.sharding.Mesh"),
    ):
        file.write_text(script)
        with pytest.raises(InvalidArgument, match=rf"\. Move what the script does into `def program\({parameter}\)`"):
            load_program(file)
        name = parameter.partition(":")[0]
        file.write_text(f"{script}def other({name}): return 1\n")
        untyped = rf", and annotate the parameter: {parameter}" if name == "mesh" else ""
        with pytest.raises(InvalidArgument, match=rf"\. For its other\({name}\) give --function other{untyped}\.$"):
            load_program(file)
        file.write_text(f"{script}if 1 > 2:\n    def program({name}): return 1\n")
        typed = r", as def program\(mesh: jax.sharding.Mesh\)" if name == "mesh" else ""
        with pytest.raises(InvalidArgument, match=rf"\. Define it at the top level{typed}\.$"):
            load_program(file)
    text = tmp_path / "notes.txt"
    text.write_text("hello")
    with pytest.raises(InvalidArgument, match="is not a Python file"):
        load_program(text)
    with pytest.raises(InvalidArgument, match="There is no file"):
        load_program(tmp_path)


def test_what_the_file_raises_comes_out_unchanged(tmp_path, clean_path):
    file = tmp_path / "broken_lesson.py"
    file.write_text("raise KeyError('mine')\n")
    with pytest.raises(KeyError, match="mine"):
        load_program(file)


@pytest.mark.parametrize(
    ("package", "command"),
    [
        ("torch", "pip install ./backends/torch"),
        ("keras", "pip install ./backends/tensorflow"),
        ("sklearn.datasets", "pip install '.[examples]'"),
    ],
)
def test_a_library_that_is_missing_is_named_with_the_command_that_installs_it(
    tmp_path, clean_path, monkeypatch, package, command
):
    root = package.partition(".")[0]
    monkeypatch.setitem(sys.modules, root, None)
    file = tmp_path / "needing_lesson.py"
    file.write_text(f"import {package}\n")
    with pytest.raises(BackendUnavailable) as raised:
        load_program(file)
    text = (
        f"{file} imports {root}, which is not installed here. In a checkout of simstrategy, install it with: {command}"
    )
    assert str(raised.value) == text


def bfloat16(*values):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    return np.array(values, ml_dtypes.bfloat16)


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome((), None, ()),
        Outcome((), ("KeyError", "'ü'"), ()),
        Outcome(
            (
                ("a", np.float32([1, np.nan])),
                ("b", np.zeros((0, 3), np.int8)),
                ("c", np.array(True)),
                ("d", np.array("text é")),
                ("e", np.complex128([1j])),
            ),
            None,
            (Event(0, None, "run", None, None, "f", ((2, None),), ("float32",), "a.py:1"),),
        ),
    ],
)
def test_an_outcome_is_saved_and_loaded_equal(tmp_path, outcome):
    save_outcome(outcome, tmp_path / "outcome0")
    again = load_outcome(tmp_path / "outcome0")
    assert [path for path, _ in again.leaves] == [path for path, _ in outcome.leaves]
    for (_, one), (_, two) in zip(again.leaves, outcome.leaves, strict=True):
        assert one.dtype == two.dtype
        assert one.shape == two.shape
        assert one.tobytes() == two.tobytes()
    assert again[1:] == outcome[1:]


def test_bfloat16_survives_saving(tmp_path):
    value = bfloat16(1.5, 2.0)
    save_outcome(Outcome((("a", value),), None, ()), tmp_path / "outcome0")
    ((_, again),) = load_outcome(tmp_path / "outcome0").leaves
    assert again.dtype == value.dtype
    assert again.tobytes() == value.tobytes()


def test_a_program_that_is_no_function_of_a_file_cannot_be_started_elsewhere():
    with pytest.raises(InvalidArgument, match="Define it as a function at the top level of a file"):
        run_in_processes(lambda strategy: 0, "sim", 1, Semantics.TF1_15, 60.0)


@pytest.mark.slow
def test_a_program_runs_in_a_process_of_its_own_and_comes_back(tmp_path, clean_path):
    file = tmp_path / "own_process_lesson.py"
    file.write_text(
        "import os\nimport simstrategy as ss\n"
        "def program(strategy):\n"
        "    return {'sum': strategy.run(lambda: ss.get_replica_context().all_reduce('SUM', 2.0)),\n"
        "            'rank': int(os.environ['RANK'])}\n"
        "def fails(strategy):\n    print('a last word', flush=True)\n    os._exit(3)\n"
        "def raises(strategy):\n    raise KeyError('mine')\n"
    )
    (outcome,) = run_in_processes(load_program(file), "sim", 1, Semantics.TF1_15, 60.0)
    assert [(path, value.tolist()) for path, value in outcome.leaves] == [("result['rank']", 0), ("result['sum']", 2.0)]
    assert [event.kind for event in outcome.events] == ["run", "all_reduce"]
    (raised,) = run_in_processes(load_program(file, "raises"), "sim", 1, Semantics.TF1_15, 60.0)
    assert raised.error == ("KeyError", "'mine'")
    with pytest.raises(PeerFailed, match=r"Worker 0 of 1 ended with exit code 3. The end of its output:\na last word"):
        run_in_processes(load_program(file, "fails"), "sim", 1, Semantics.TF1_15, 60.0)


@pytest.mark.parametrize(
    ("line", "launcher"), [("", "torchrun"), ("torch.multiprocessing.spawn(train, nprocs=2)", "python")]
)
def test_a_script_of_torch_distributed_is_checked_as_it_is_started(tmp_path, line, launcher):
    file = tmp_path / "script.py"
    file.write_text(f"def train(rank):\n    init_process_group()\n\n\ndef main():\n    {line or 'pass'}\n")
    with pytest.raises(InvalidArgument, match=f"To check it whole, .*: simstrategy check --as {launcher} "):
        load_program(file)
