"""The conformance kit is examined: it catches every mutant by the clause that it breaks, and no sound variant."""

import re
from collections import Counter

import pytest

pytest.importorskip("simstrategy_conformance")

import mutants_of_collectives
import mutants_of_functions
import mutants_of_memory
import mutants_of_places
import mutants_of_scope
import mutants_of_settings
import mutants_of_sizes
import mutants_of_strategies
from mutation import failure_apart, mutates, subject_with
from shares import one_in
from sound_layouts import LAYOUTS
from sound_variants import SOUND

from simstrategy_conformance.index import by_clause, entries
from simstrategy_conformance.profiles import Profile

GROUPS = (
    mutants_of_places,
    mutants_of_collectives,
    mutants_of_functions,
    mutants_of_strategies,
    mutants_of_sizes,
    mutants_of_scope,
    mutants_of_settings,
    mutants_of_memory,
)
ENTRIES = {entry.name: entry for entry in entries()}
CATCHING = Profile("catching", examples=60, replicas_max=4, shrink=False)
SHRINKING = CATCHING._replace(shrink=True)
PASSING = Profile("passing", examples=3, replicas_max=4, triples=False, scope=0.02)
BRIEF = PASSING._replace(examples=2, rows_max=12)
BY_NAME = {mutant.name: mutant for mutant in mutates.mutants}


@pytest.mark.parametrize("name", BY_NAME)
def test_an_animal_is_caught_by_the_clause_that_it_breaks(name):
    mutant = BY_NAME[name]
    assert mutant.test in by_clause()[mutant.clause]
    subject = mutant.subject(CATCHING)
    assert failure_apart(ENTRIES[mutant.test], subject) is not None, f"{name} lives: {mutant.wrong.__doc__}"
    subject.close()


def test_there_are_animals_enough_and_not_too_many_of_one_clause():
    clauses = Counter(mutant.clause for mutant in mutates.mutants)
    assert sum(clauses.values()) >= 50
    assert max(clauses.values()) <= sum(clauses.values()) / 10
    assert len(SOUND) >= 20


FUNCTIONS_ALONE = ("B-18", "B-19", "B-20", "B-21", "B-22")
"""Clauses of array functions, which layouts do not touch."""


@pytest.mark.slow
@pytest.mark.parametrize("name", one_in(12, SOUND))
def test_a_sound_variant_passes_every_test_of_the_kit(name):
    # The matrix runs every test on every variant; here the younger ones are tried by fewer rows.
    is_layout = name in LAYOUTS
    subject = subject_with(name, SOUND[name], BRIEF if is_layout else PASSING)
    tried = [one for one in ENTRIES.values() if not (is_layout and set(one.clauses) & {*FUNCTIONS_ALONE})]
    failed = {entry.name: failure_apart(entry, subject) for entry in tried}
    subject.close()
    assert {test: error for test, error in failed.items() if error is not None} == {}


@pytest.mark.slow
def test_a_sound_function_passes_as_numpys():
    subject = subject_with("fused", SOUND["fused multiply and add"], PASSING)
    entry = ENTRIES["test_an_array_function_is_numpys"]
    error = failure_apart(entry._replace(settings=({"function": "matmul"},)), subject)
    subject.close()
    assert error is None


GROUP = re.compile(r"(\d+) ranks? of \w+(\[.*?\]): (.*)")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["the_last_rank_is_forgotten", "unsigned_are_compared_as_signed", "results_are_one_memory"]
)
def test_a_counterexample_of_arrays_is_small(name):
    error = failure_apart(ENTRIES[BY_NAME[name].test], BY_NAME[name].subject(SHRINKING))
    ranks, _, numbers = GROUP.search("\n".join([str(error), *error.__notes__])).groups()
    assert int(ranks) <= 3
    assert len(re.findall(r"[\d.]+", numbers.splitlines()[0])) <= 4


@pytest.mark.slow
@pytest.mark.parametrize("name", one_in(2, ["the_last_rank_is_forgotten", "a_gather_is_in_order_of_arrival"]))
def test_a_counterexample_of_a_whole_program_is_a_short_script(name):
    subject = BY_NAME[name].subject(Profile("programs", examples=200, replicas_max=4))
    error = failure_apart(ENTRIES["test_a_program_comes_to_the_same_everywhere"], subject)
    subject.close()
    script = str(error).partition("\n\n")[2].strip()
    assert len(script.splitlines()) <= 25
    assert int(re.search(r"replicas=(\d+)", script)[1]) <= 3
    given = "".join(re.findall(r"np\.array\((\[.*?\])\[r\]", script))
    assert len(re.findall(r"-?\d+\.?\d*", given)) <= 4, script
