"""The generator: what programs are made of, scripts that run by themselves, and the same draws in every process."""

import importlib
import os
import statistics
import subprocess
import sys
from random import Random

import pytest
from hypothesis import find, given, seed
from hypothesis.internal.conjecture import providers
from hypothesis.strategies import integers

from simstrategy.errors import Unsupported
from simstrategy_conformance.checking import options, search
from simstrategy_conformance.coverage import CONSTRUCTS, collectives_of, constructs_of, replicas_and_numbers
from simstrategy_conformance.generate import programs
from simstrategy_conformance.oracle import run
from simstrategy_conformance.profiles import PROFILES
from simstrategy_conformance.program import AllReduce, Assign, Batch, Data, Given, Node, Program, VariableSpec
from simstrategy_conformance.script import FILE, script_text
from simstrategy_conformance.subject import Subject


def drawn(count, number=0, **grammar):
    """Returns so many programs, drawn for the simulator."""
    subject = Subject("sim", profile=PROFILES["default"]._replace(examples=count))
    subject.open(1)
    found = []

    @given(programs(subject, **grammar))
    def keep(program):
        found.append(program)

    options(subject)(seed(number)(keep))()
    return found


@pytest.fixture(scope="module")
def many():
    return drawn(800)


@pytest.mark.slow
@pytest.mark.deep
def test_every_construct_is_in_one_of_twenty_programs(many):
    shares = {word: sum(word in constructs_of(program) for program in many) / len(many) for word in CONSTRUCTS}
    assert {word: share for word, share in shares.items() if share < 0.05} == {}


def test_every_word_that_a_program_has_is_counted(many):
    assert {word for program in many for word in constructs_of(program)} == set(CONSTRUCTS)


def test_half_of_all_programs_meet_four_times_or_more(many):
    assert statistics.median(collectives_of(program) for program in many) >= 4


def test_a_script_has_25_lines_at_most_and_is_python(many):
    for program in many[::5]:
        text = script_text(program, "acme")
        assert len(text.splitlines()) <= 25, text
        compile(text, FILE, "exec")


def test_most_programs_end_with_a_result_and_some_with_each_error(many):
    endings = [run(program).error for program in many[::2]]
    assert endings.count(None) > len(endings) / 2
    assert {"KeyError", "ReplicasDisagree", "InvalidArgument"} <= set(endings)


@pytest.mark.slow
def test_a_script_runs_by_itself_and_prints_both_backends(many):
    program = next(one for one in many if one.variables and one.data and run(one).error is None and one.workers == 1)
    printed = subprocess.run(
        [sys.executable, "-c", script_text(program, "sim")], capture_output=True, text=True, check=True, timeout=300
    )
    assert printed.stdout.startswith("sim: ")


COUNTEREXAMPLE = """
import simstrategy as ss
from simstrategy.device.wrapper import Wrapper
from simstrategy_conformance.coverage import constructs_of
from simstrategy_conformance.index import entries, failure_of
from simstrategy_conformance.profiles import Profile
from simstrategy_conformance.subject import Subject

class Wrong(Wrapper):
    def all_reduce(self, arrays, op):
        return self._inner.all_reduce((arrays[0],) * len(arrays), op)

subject = Subject("wrong", open_backend=lambda *, replicas=None: Wrong(ss.backend("sim", replicas=replicas)),
                  profile=Profile("few", 12, 4), seed=SEED)
for entry in entries():
    if {"B-8", "E-1", "R-5"} & set(entry.clauses):
        error = failure_of(entry, subject)
        print(entry.name, error, getattr(error, "__notes__", ()))
"""


def _printed(hash_seed, number):
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    code = COUNTEREXAMPLE.replace("SEED", str(number))
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment, timeout=300
    )
    return done.stdout


@pytest.mark.slow
@pytest.mark.deep
def test_the_same_seed_gives_the_same_counterexamples_in_every_process():
    one, again = _printed("1", 7), _printed("2", 7)
    assert one == again
    assert "ctx.all_reduce" in one
    assert "test_an_all_reduce_of_every_form None" not in one


# What is left of a program that has a construct: workers, replicas of each, runs, statements, draws, and numbers.
SMALLEST = {
    "workers": (2, 1, 1, 0, 0, 0),
    "schedule": (1, 1, 1, 0, 1, 0),
    "several runs": (1, 1, 2, 0, 0, 0),
    "disagreement": (1, 2, 1, 1, 0, 0),
    "gather": (1, 1, 1, 2, 0, 1),
    "partial batch": (1, 1, 1, 0, 0, 1),
    "used result": (1, 1, 1, 2, 0, 1),
}


@pytest.mark.slow
@pytest.mark.parametrize("word", SMALLEST)
def test_programs_shrink_in_every_direction(word):
    subject = Subject("sim", profile=PROFILES["default"]._replace(examples=2000))
    strategy = programs(subject)
    found = find(strategy, lambda one: word in constructs_of(one), settings=options(subject), random=Random(1))
    statements = len(found.body) + len(found.after)
    size = found.workers, found.replicas, found.runs, statements, len(found.draws), replicas_and_numbers(found)[1]
    assert size == SMALLEST[word]


def test_the_numbers_of_a_program_are_counted_for_all_replicas():
    replicas, numbers = replicas_and_numbers(
        Program(
            2,
            (AllReduce("SUM", Given("float32", ((1.0, 2.0), (3.0, 4.0)))),),
            after=(Assign(0, "assign", 1.0),),
            variables=(VariableSpec("ON_READ", "SUM", "float32", 0.0),),
            data=Data("float32", (1.0, 2.0, 3.0), 2),
        )
    )
    assert (replicas, numbers) == (2, 4 + 1 + 1 + 3)


def test_a_compiled_step_gets_its_host_data_as_arguments():
    program = Program(
        2, (AllReduce("SUM", Node("list", (Given("float32", (1.0, 2.0)), Batch()))),), data=Data("float32", (1.0,), 1)
    )
    text = script_text(program, "acme", step="compiled")
    assert "def step(batch, g0):" in text
    assert 'ctx.all_reduce("SUM", [g0, batch])' in text
    assert text.index("step = strategy.compile(step)") < text.index("strategy.run(step, args=(batch, g0,))")
    assert "compile" not in script_text(program, "acme", step="fed")


def test_another_seed_draws_other_programs():
    assert [repr(one.body) for one in drawn(30, 1)] == [repr(one.body) for one in drawn(30, 1)]
    assert [repr(one.body) for one in drawn(30, 1)] != [repr(one.body) for one in drawn(30, 2)]


def test_a_grammar_is_kept_to():
    for program in drawn(60, body=("look",), after=(), variables=False, data=False, stops=False, workers_max=1):
        assert {one.kind for one in program.body} <= {"look"}
        assert (program.after, program.variables, program.data, program.workers) == ((), (), None, 1)


def test_draws_do_not_depend_on_the_modules_that_were_imported(tmp_path, monkeypatch):
    """Hypothesis reads numbers in the modules of its user, and draws them now and then."""
    subject = Subject("sim", profile=PROFILES["default"]._replace(examples=400))

    def numbers():
        found = []
        search(subject, "numbers", lambda _, number: found.append(number), {"number": integers()}, share=1.0)
        return found

    first = numbers()
    odd = [10**9 + 7919 * number for number in range(200)]
    (tmp_path / "full_of_numbers.py").write_text(f"ODD = {odd}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "full_of_numbers", importlib.import_module("full_of_numbers"))
    assert numbers() == first
    assert not {*first} & {*odd}


@pytest.mark.parametrize("name", ["_get_local_constants", "CONSTANTS_CACHE"])
def test_a_hypothesis_that_reads_constants_by_other_means_is_refused_by_name(monkeypatch, name):
    monkeypatch.delattr(providers, name)
    with pytest.raises(Unsupported, match=r"Hypothesis [\d.]+ reads the constants .* Install hypothesis<"):
        search(Subject("sim"), "numbers", lambda _, number: None, {"number": integers()}, share=0.1)
