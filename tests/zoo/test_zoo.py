"""The conformance kit is examined: it catches every animal by the clause that it breaks, and no sound variant."""

import re
from collections import Counter

import pytest

pytest.importorskip("simstrategy_conformance")

import zoo_collectives
import zoo_functions
import zoo_places
import zoo_strategies
from zoo_animals import failure_apart, subject_with, zoo_keeper
from zoo_sound import SOUND

from simstrategy_conformance.index import by_clause, entries
from simstrategy_conformance.profiles import Profile

GROUPS = (zoo_places, zoo_collectives, zoo_functions, zoo_strategies)
ENTRIES = {entry.name: entry for entry in entries()}
CATCHING = Profile("catching", examples=60, replicas_max=4, shrink=False)
SHRINKING = CATCHING._replace(shrink=True)
PASSING = Profile("passing", examples=3, replicas_max=4)
BY_NAME = {animal.name: animal for animal in zoo_keeper.animals}


@pytest.mark.parametrize("name", BY_NAME)
def test_an_animal_is_caught_by_the_clause_that_it_breaks(name):
    animal = BY_NAME[name]
    assert animal.test in by_clause()[animal.clause]
    subject = animal.subject(CATCHING)
    assert failure_apart(ENTRIES[animal.test], subject) is not None, f"{name} lives: {animal.wrong.__doc__}"
    subject.close()


def test_there_are_animals_enough_and_not_too_many_of_one_clause():
    clauses = Counter(animal.clause for animal in zoo_keeper.animals)
    assert sum(clauses.values()) >= 50
    assert max(clauses.values()) <= 4
    assert len(SOUND) >= 10


@pytest.mark.slow
@pytest.mark.parametrize("name", SOUND)
def test_a_sound_variant_passes_every_test_of_the_kit(name):
    subject = subject_with(name, SOUND[name], PASSING)
    failed = {entry.name: failure_apart(entry, subject) for entry in ENTRIES.values()}
    subject.close()
    assert {test: error for test, error in failed.items() if error is not None} == {}


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
@pytest.mark.parametrize("name", ["the_last_rank_is_forgotten", "a_gather_is_in_order_of_arrival"])
def test_a_counterexample_of_a_whole_program_is_a_short_script(name):
    subject = BY_NAME[name].subject(Profile("programs", examples=200, replicas_max=4))
    error = failure_apart(ENTRIES["test_a_program_comes_to_the_same_everywhere"], subject)
    subject.close()
    script = str(error).partition("\n\n")[2].strip()
    assert len(script.splitlines()) <= 25
    assert int(re.search(r"replicas=(\d+)", script)[1]) <= 3
    given = "".join(re.findall(r"np\.array\((\[.*?\])\[r\]", script))
    assert len(re.findall(r"-?\d+\.?\d*", given)) <= 4, script
