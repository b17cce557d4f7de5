"""Scripts that a check executes itself: which ones, with which arguments.  Clauses: J-109, J-117, J-118."""

import ast
import sys
from types import ModuleType, SimpleNamespace

import pytest

from simstrategy.check.annotations import foreign_annotation
from simstrategy.check.executed import require_arguments, script_of
from simstrategy.check.executed.meshes import uses_devices
from simstrategy.check.processes import location_of
from simstrategy.check.programs import load_program, require_launched
from simstrategy.errors import InvalidArgument

MESH = SimpleNamespace(devices=SimpleNamespace(size=4))
SCRIPT = """\
import sys
import jax
from beside_the_script import FOUND
jax.config.update("jax_num_cpu_devices", 8)
jax.config.update("jax_enable_x64", True)
jax.distributed.initialize("address", num_processes=2)
FOUND.append((sys.argv[1:], jax.devices()))
w = 1.0
w = w + 1
"""


@pytest.fixture
def script(tmp_path, monkeypatch):
    """Returns a function that loads a script, and what its runs found; jax is a module that notes its settings."""
    jax, beside = ModuleType("jax"), ModuleType("beside_the_script")
    jax.config = SimpleNamespace(update=lambda name, value: beside.FOUND.append(name))
    jax.devices = lambda: ["all"]
    beside.FOUND = []
    monkeypatch.setitem(sys.modules, "jax", jax)
    monkeypatch.setitem(sys.modules, "beside_the_script", beside)
    monkeypatch.setattr(sys, "path", [*sys.path])
    file = tmp_path / "train.py"

    def made(text=SCRIPT, arguments=()):
        file.write_text(text)
        return load_program(file, arguments=arguments)

    return made, beside.FOUND, file


def test_a_script_of_jax_is_a_program_that_returns_what_it_trains(script):
    made, found, file = script
    program = made(arguments=["--batch", "{12//replicas}"])
    assert program(MESH).fed_back == {"w": 2.0}
    # What chooses devices or connects processes has no effect: the check has chosen them.
    assert found == ["jax_enable_x64", (["--batch", "3"], ["all"])]
    annotation = foreign_annotation(program)
    assert annotation is not None
    assert annotation.package == "jax"
    assert location_of(program) == (str(file), "program", ("--batch", "{12//replicas}"))
    assert script_of(program).arguments == ("--batch", "{12//replicas}")


def test_a_script_that_imports_jax_beside_others_in_a_line_is_one(script):
    made, _, _ = script
    assert script_of(made("import sys as s, jax\njax.devices()")) is not None


def test_arguments_that_replicas_do_not_divide_are_refused_when_they_are_filled(script):
    made, _, _ = script
    program = made(arguments=["{10//replicas}"])
    require_arguments(program, [1, 2, 5])
    for run in (lambda: program(MESH), lambda: require_arguments(program, [1, 4])):
        with pytest.raises(InvalidArgument, match=r"'\{10//replicas\}' has 10 // replicas, which leaves a remainder"):
            run()


def test_arguments_for_a_function_are_refused(script):
    made, _, _ = script
    with pytest.raises(InvalidArgument, match=r"no script that a check executes whole.*got --lr 0.1"):
        made("def program(strategy): ...", ["--lr", "0.1"])
    assert script_of(made("def program(strategy): ...")) is None


@pytest.mark.parametrize(
    ("text", "uses"),
    [
        ("import jax\njax.devices()", True),
        ("from jax import pmap\npmap(print)", True),
        ("import jax.numpy\nfrom jax.sharding import Mesh\nMesh", True),
        ("import jax\nargs = vars(jax)\nsetattr(args, 'a', 1)\njax.pmap(1)", True),
        ("import jax\nimport torch.utils.data\njax.pmap(1)", True),
        ("import jax\njax.jit(print)", False),
        ("import jax\nimport torch.distributed as d\nd.init_process_group()\njax.devices()", False),
        ("from own import pmap\npmap(print)", False),
    ],
)
def test_a_script_of_jax_is_known_by_what_it_names(text, uses):
    assert uses_devices(ast.parse(text)) is uses


@pytest.mark.parametrize("text", ["exec('x = 1')", "globals()['x'] = 1", "from os import *", "program = print"])
def test_a_file_that_may_define_the_function_is_no_script(script, text):
    made, _, _ = script
    with pytest.raises(Exception) as raised:  # noqa: PT011 - whatever the file does when it is executed
        made(f"import jax\njax.devices()\n{text}\nraise LookupError('was executed')")
    assert "was executed" in str(raised.value)


def test_launchers_of_ranks_refuse_a_script_of_jax(script):
    made, _, file = script
    made()
    with pytest.raises(InvalidArgument, match=r"makes its strategy or mesh itself.*leave --as out: simstrategy check"):
        require_launched(file, "torchrun")
    file.write_text(f"import torch\n{SCRIPT}")
    require_launched(file, "torchrun")
