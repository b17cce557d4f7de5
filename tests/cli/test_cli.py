"""The command line: exit codes, what it prints, and how it reports mistakes."""

import importlib
import json
import re
import subprocess
import sys
from importlib.metadata import version

import pytest

pytest.importorskip("typer")

from typer.testing import CliRunner

from simstrategy.cli.app import app_for
from simstrategy.cli.options import schedule_maker, semantics_named
from simstrategy.cli.texts import numbers
from simstrategy.cli.texts import words as split_words
from simstrategy.device import EXPERIMENTAL, INSTALL_HINTS
from simstrategy.schedules import InOrder, Seeded
from simstrategy.strategy import Semantics
from simstrategy.trace import Trace

LESSON = """
import numpy as np
import simstrategy as ss
from simstrategy.strategy import group_of

def program(strategy):
    with strategy.scope():
        ss.Variable(1.0, name="w")
    return {"sum": strategy.run(lambda: ss.get_replica_context().all_reduce("SUM", np.float32([1, 2])))}

def raising(strategy):
    raise KeyError("mine")

def replicas(strategy):
    return strategy.num_replicas_in_sync

def unlike(strategy):
    unlike.calls += 1
    return np.float32(unlike.calls if group_of(strategy).settings.schedule.name != "InOrder()" else 1)
unlike.calls = 100

def amplified(strategy):
    data = ss.data.Dataset.from_tensor_slices(np.float32([1.0000001] * 2)).batch(2)
    (batch,) = strategy.experimental_distribute_dataset(data)
    for _ in range(22):
        batch = strategy.run(lambda x: x * x, args=(batch,))
    in_order = group_of(strategy).settings.schedule.name == "InOrder()"
    first = strategy.experimental_local_results(batch)[0]
    return group_of(strategy).backend.get(first) * np.float32(1 if in_order else 1.2)

def rounded(strategy):
    parts = np.float32([1e8, 1, -1e8, 1])
    def step():
        ctx = ss.get_replica_context()
        return ctx.all_reduce("SUM", parts[ctx.replica_id_in_sync_group])
    return strategy.run(step)

def profile(strategy):
    return group_of(strategy).semantics.name
"""


@pytest.fixture
def lesson(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("COLUMNS", "200")
    file = tmp_path / "lesson.py"
    file.write_text(LESSON)
    yield str(file)
    sys.modules.pop("simstrategy_program_lesson", None)


def call(*arguments):
    words = [str(one) for one in arguments]
    result = CliRunner().invoke(app_for(words), words)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def test_check_of_a_program_that_agrees_ends_with_0_and_a_table(lesson):
    result = call("check", lesson, "--replicas", "1,2", "--schedules", "in-order,seeded:3", "--not", "replicas")
    assert result.exit_code == 0
    assert "check of lesson.py" in result.stdout
    assert "equal to the bit" in result.stdout
    assert "Seeded(3)" in result.stdout
    assert "All runs agree: " in result.stdout


def test_check_of_a_program_that_differs_ends_with_1_and_the_first_difference(lesson):
    result = call("check", lesson, "--function", "unlike", "--replicas", "2", "--schedules", "seeded:3")
    assert result.exit_code == 1
    assert "DIFFERS" in result.stdout
    assert re.search(r"sim, replicas 2, Seeded\(3\): result: \S+ against 1\.0", result.stdout)
    assert "Not all runs agree." in result.stdout


def test_check_of_a_program_that_amplifies_rounding_ends_with_2_and_states_why(lesson):
    result = call("check", lesson, "--function", "amplified", "--replicas", "2", "--schedules", "seeded:3")
    assert result.exit_code == 2
    assert "NOT JUDGED" in result.stdout
    assert "Could not be judged:\nsim, replicas 2, Seeded(3): result: element [0] is " in result.stdout
    assert result.stdout.splitlines()[-1].startswith("Not all runs could be judged.")


def test_check_of_a_program_that_raises_ends_with_1_unless_errors_are_allowed(lesson):
    arguments = ("check", lesson, "--function", "raising", "--schedules", "seeded:1")
    refused, allowed = call(*arguments), call(*arguments, "--allow-errors")
    assert (refused.exit_code, allowed.exit_code) == (1, 0)
    assert "FAILED" in refused.stdout
    assert "raises the same" in allowed.stdout


def test_check_and_run_add_in_the_order_that_is_named(lesson):
    arguments = ("--function", "rounded", "--order")
    found = {order: call("run", lesson, "--replicas", "4", *arguments, order).stdout for order in ("linear", "tree")}
    assert "float32[] = 1.0" in found["linear"]
    assert "float32[] = 0.0" in found["tree"]
    result = call("check", lesson, "--replicas", "2", *arguments, "ring", "--same-on", "order")
    assert "added in rank order" in result.stdout
    assert "replicas  sim" not in result.stdout


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--replicas", "1,two"], "is not a list of numbers such as 1,2,4"),
        (["--replicas", "0"], "every number has to be at least 1"),
        (["--workers", "-1"], "every number has to be at least 1"),
        (["--schedules", "random"], "is not a schedule: write in-order, seeded:1"),
        (["--schedules", "seeded:x"], "is not a schedule"),
        (["--schedules", "in-order:3"], "is not a schedule"),
        (["--order", "spiral"], "'spiral' is not an order of additions: choose from linear, ring, tree"),
        (["--same-on", "colour"], "'colour' is none of backends, schedules, workers, compiled, replicas, state, cut"),
        (["--same-on", "replicas", "--laws", "order"], "give same_on alone, or leave it out"),
        (["--semantics", "TF3"], "is not a profile: choose from TF1_13, TF1_15,"),
        (["--backends", "simm"], "BackendNotFound: No backend named 'simm'"),
        (["--function", "missing"], "defines no function missing(strategy)"),
        (["--timeout", "soon"], "Invalid value for '--timeout'"),
    ],
)
def test_a_mistake_in_the_options_ends_with_2_and_one_clear_message(lesson, arguments, text):
    result = call("check", lesson, *arguments)
    assert result.exit_code == 2
    printed = " ".join((result.stdout + result.stderr).replace("│", " ").split())
    assert text in printed
    assert "Traceback" not in printed


@pytest.mark.parametrize("command", ["check", "run"])
def test_a_missing_file_ends_with_2(command, tmp_path):
    result = call(command, tmp_path / "missing.py")
    assert result.exit_code == 2
    assert "InvalidArgument: There is no file" in result.stderr


def test_run_prints_values_variables_and_the_length_of_the_trace(lesson):
    result = call("run", lesson, "--replicas", "2")
    assert result.exit_code == 0
    assert "result['sum'] of local replica 0: float32[2] = 2.0 4.0" in result.stdout
    assert "variable 0 'w': float32[] = 1.0, equal on 2 replicas" in result.stdout
    assert "4 events in the trace" in result.stdout


def test_run_of_a_program_that_raises_ends_with_1_and_the_error(lesson):
    result = call("run", lesson, "--function", "raising")
    assert result.exit_code == 1
    assert "KeyError: 'mine'" in result.stdout


def test_run_writes_a_trace_that_can_be_read(lesson, tmp_path):
    assert call("run", lesson, "--replicas", "2", "--trace", tmp_path / "t.jsonl").exit_code == 0
    events = Trace.read(tmp_path / "t.jsonl")
    assert [event.kind for event in events] == ["variable", "run", "all_reduce", "all_reduce"]
    assert {event.site.split(":")[0] for event in events} == {"lesson.py"}


def test_run_simulates_workers_and_names_each(lesson, tmp_path):
    result = call("run", lesson, "--workers", "2", "--replicas", "2", "--trace", tmp_path / "t.jsonl")
    assert result.exit_code == 0
    assert "worker 0: result['sum'] of local replica 0: float32[2] = 4.0 8.0" in result.stdout
    assert "worker 1: variable 0 'w': float32[] = 1.0, equal on 2 replicas" in result.stdout
    assert {event.worker for event in Trace.read(tmp_path / "t.jsonl")} == {0, 1}


def test_run_simulates_workers_of_a_factorys_simulator_with_its_order_of_additions(lesson, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "acme_tree.py").write_text(
        "from simstrategy.sim import open_sim\n\n"
        "def open_it(*, replicas=None):\n    return open_sim(replicas=replicas, order='tree')\n"
    )
    options = ("run", lesson, "--function", "rounded", "--workers", "2", "--replicas", "2")
    assert "worker 0: result of local replica 0: float32[] = 1.0" in call(*options).stdout
    assert (
        "worker 0: result of local replica 0: float32[] = 0.0"
        in call(*options, "--backend", "acme_tree:open_it").stdout
    )


def test_run_takes_a_schedule_and_a_profile(lesson):
    result = call("run", lesson, "--function", "profile", "--semantics", "tf2", "--schedule", "seeded:5")
    assert result.exit_code == 0
    assert "'TF2'" in result.stdout
    assert "= 3" in call("run", lesson, "--function", "replicas", "--replicas", "3").stdout


def test_an_option_that_check_has_not_is_perhaps_one_of_the_script(lesson):
    shown = " ".join(call("check", "--as", "torchrun", lesson, "--batch-size", "8").output.split())
    assert (
        "No such option: --batch-size. Arguments of the script come after --, as in: train.py -- --batch-size" in shown
    )
    assert "come after" not in call("run", lesson, "--batch-size", "8").output


@pytest.mark.parametrize("option", ["--replicas", "--workers"])
def test_run_needs_at_least_one_of_each(lesson, option):
    assert call("run", lesson, option, "0").exit_code == 2


def test_backends_with_probe_opens_what_is_there_and_names_what_to_install(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setitem(INSTALL_HINTS, "acme", "pip install simstrategy-acme")
    from simstrategy.cli import backends as module

    monkeypatch.setattr(module, "available", lambda: {"sim": None, "broken": None})
    result = call("backends", "--probe")
    assert result.exit_code == 0
    lines = {line.split()[0]: line for line in result.stdout.splitlines() if line.strip()}
    assert "sim:0" in lines["sim"]
    assert "greenlet" in lines["sim"]
    assert "all replicas in one process" in lines["sim"]
    assert "not installed: pip install simstrategy-acme" in lines["acme"]
    assert "No backend named 'broken'" in lines["broken"]


@pytest.mark.slow
def test_backends_lists_versions_and_needs_and_imports_no_framework():
    code = (
        "import json, sys\n"
        "from typer.testing import CliRunner\n"
        "from simstrategy.cli.app import app_for\n"
        "done = CliRunner().invoke(app_for(['backends']), ['backends'], catch_exceptions=False)\n"
        "print(json.dumps([done.exit_code, done.output, sorted({name.split('.')[0] for name in sys.modules})]))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True, timeout=300
    ).stdout
    exit_code, output, loaded = json.loads(printed)
    assert exit_code == 0
    lines = {line.split()[0]: " ".join(line.split()) for line in output.splitlines() if line.strip()}
    assert lines["sim"].startswith(f"sim simstrategy {version('simstrategy')} ")
    assert f"numpy {version('numpy')}" in lines["sim"]
    assert {*INSTALL_HINTS} <= {*lines}
    assert not {*loaded} & {"tensorflow", "torch", "jax", "jaxlib", "keras", "sklearn", "ml_dtypes", "hypothesis"}
    assert not [name for name in loaded if name.startswith("simstrategy_")]


def test_backends_marks_those_that_no_hardware_has_run_and_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    info = tmp_path / "acme-3.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: acme\nVersion: 3.2\nRequires-Dist: simstrategy>=0.1\nRequires-Dist: numpy>=2\n"
        "Requires-Dist: acme-core (>=7)\nRequires-Dist: acme-gold; extra == 'gold'\n"
    )
    (info / "entry_points.txt").write_text("[simstrategy.backends]\nacme = acme_is_not_imported:open_it\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(EXPERIMENTAL, "acme", "no test has opened it")
    monkeypatch.setitem(INSTALL_HINTS, "absent", "pip install './backends/absent[all]'")
    result = call("backends")
    lines = {line.split()[0]: " ".join(line.split()) for line in result.stdout.splitlines() if line.strip()}
    needs = f"numpy {version('numpy')}, acme-core (missing)"
    assert lines["acme"] == f"acme acme 3.2 {needs} experimental: no test has opened it"
    assert "absent - - not installed: pip install './backends/absent[all]'" in " ".join(result.stdout.split())
    assert result.stdout.endswith("Run `pip install` in a checkout of simstrategy; elsewhere, install the wheel.\n")


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Installs commands of another distribution, as an installer would: name=module:function."""

    def install(text, **points):
        (tmp_path / "acme_commands.py").write_text(text)
        info = tmp_path / "acme-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
        lines = [f"{name} = {value}" for name, value in points.items()]
        (info / "entry_points.txt").write_text("\n".join(["[simstrategy.commands]", *lines, ""]))
        monkeypatch.syspath_prepend(str(tmp_path))

    yield install
    sys.modules.pop("acme_commands", None)


def test_a_command_of_another_distribution_is_imported_for_itself_and_for_help_alone(installed):
    installed(
        "def greet(name: str = 'you') -> None:\n    'Greet.'\n    print('hello', name)\n", greet="acme_commands:greet"
    )
    for words in (["backends"], ["split"], ["conform", "--help"], ["unknown"]):
        call(*words)
        assert "acme_commands" not in sys.modules
    assert call("greet", "--name", "all").stdout == "hello all\n"
    assert "acme_commands" in sys.modules
    for words in (["--help"], []):
        assert "Greet." in call(*words).output


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("acme_missing:greet", "ModuleNotFoundError: No module named 'acme_missing'"),
        ("acme_commands:gret", "KeyError: 'gret'"),
        ("acme_commands:wrong", "NameError: name 'Missing' is not defined"),
    ],
)
def test_a_broken_command_is_reported_and_the_others_work(installed, monkeypatch, location, reason):
    monkeypatch.setenv("COLUMNS", "300")
    installed("def greet() -> None:\n    print('hello')\ndef wrong(x: 'Missing') -> None: ...\n", greet=location)
    assert call("split").exit_code == 0
    broken = call("greet")
    assert broken.exit_code == 2
    assert f"The command greet cannot run: {location} of acme cannot be imported: {reason}" in broken.stderr
    listed = call("--help")
    assert listed.exit_code == 0
    assert f"cannot run: {location} of acme cannot be imported: {reason}" in " ".join(listed.output.split())
    assert "Run the conformance kit on a backend." in listed.output


def test_no_distribution_replaces_a_command_of_ours(installed):
    installed("def check() -> None:\n    print('replaced')\n", check="acme_commands:check")
    assert "replaced" not in call("check").output
    assert "replaced" not in call("check", "--help").output
    call("--help")
    assert "Judge a program" in call("--help").output


def test_help_names_the_commands_and_no_arguments_is_help():
    for arguments in (["--help"], []):
        text = call(*arguments).output
        assert all(command in text for command in ("backends", "check", "run"))


def test_the_list_has_the_first_line_of_the_help_of_each_command(monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    listed = " ".join(call("--help").output.split())
    for name in ("backends", "check", "conform", "play", "recompute", "run", "split"):
        command = vars(importlib.import_module(f"simstrategy.cli.{name}"))[name]
        assert f"{name} {command.__doc__.splitlines()[0]}" in listed


@pytest.mark.slow
@pytest.mark.parametrize("words", [["--help"], ["split"], ["backends"], ["conform", "--help"]])
def test_what_lists_and_shows_imports_neither_the_judge_nor_a_framework(words):
    code = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from simstrategy.cli.app import app_for\n"
        f"done = CliRunner().invoke(app_for({words}), {words})\n"
        "heavy = {'simstrategy.check', 'simstrategy.player', 'jax', 'tensorflow', 'torch'}\n"
        "print(done.exit_code, sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True, timeout=300)
    assert done.stdout == "0 []\n"


def test_lists_schedules_and_profiles_are_understood():
    assert split_words(" a, b ,,c") == ["a", "b", "c"]
    assert split_words("") == []
    assert numbers("1, 2,4") == [1, 2, 4]
    assert numbers("") == []
    assert schedule_maker("in-order") is InOrder
    assert schedule_maker("seeded:-4")().name == "Seeded(-4)"
    assert isinstance(schedule_maker("seeded:4")(), Seeded)
    assert semantics_named("tf1_13") is Semantics.TF1_13


@pytest.mark.slow
def test_the_garbage_collector_runs_again_where_a_command_runs(tmp_path):
    file = tmp_path / "program.py"
    file.write_text("import gc\n\n\ndef program(strategy):\n    return float(gc.isenabled())\n")
    command = [sys.executable, "-m", "simstrategy", "run", str(file)]
    assert "= 1.0" in subprocess.run(command, capture_output=True, check=True, text=True, timeout=300).stdout


@pytest.mark.slow
def test_the_command_line_says_what_to_install_where_its_libraries_are_missing():
    code = "import sys\nsys.modules['typer'] = None\nfrom simstrategy.cli import main\nmain()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True, timeout=300)
    assert result.returncode == 1
    assert result.stderr.strip() == "The command line needs typer: pip install 'simstrategy[cli]'"


@pytest.mark.slow
def test_the_command_runs_as_a_module_where_it_is_not_on_the_path():
    made = subprocess.run([sys.executable, "-m", "simstrategy", "--help"], capture_output=True, text=True, check=True)
    assert "python -m simstrategy [OPTIONS] COMMAND" in made.stdout
    assert made.stderr == ""
