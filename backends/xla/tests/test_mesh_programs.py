"""Programs of a JAX mesh that are wrong are found with kind, step and line; lawful ones are not accused.

All of them are checked by `ci/run.py deep mesh_programs`; every eighth one without them, since a check takes seconds.
Clauses: J-59, J-60, J-64, J-65, J-66.
"""

import numpy as np
import pytest
from mesh_corpus import FOLDER, accusations, bare_run, faults, lawful, table, wrong
from shares import one_in

import simstrategy as ss

COUNTS = (1, 2)
WRONG = {row.name: row for row in wrong()}
LAWFUL = {row.name: row for row in lawful()}


@pytest.mark.slow
@pytest.mark.parametrize("name", one_in(8, WRONG))
def test_a_wrong_program_is_found_with_its_kind_and_place(name):
    row = WRONG[name]
    report = ss.check(row.program, replicas=COUNTS)
    assert faults(row, report) == [], str(report)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", one_in(8, LAWFUL, deep=["keras_fit", "keras_stateless", "keras_train_step", "pipeline_of_stages"])
)
def test_a_lawful_program_is_not_accused(name):
    row = LAWFUL[name]
    report = ss.check(row.program, replicas=COUNTS)
    assert accusations(row, report) == [], str(report)


@pytest.mark.slow
@pytest.mark.deep
def test_whether_a_program_depends_on_the_devices_shows_without_the_check(tmp_path):
    far = {}
    for row in (WRONG["batch_statistics"], WRONG["loss_for_devices"], LAWFUL["sharded_optimizer"]):
        one, other = [bare_run(row.file, count, tmp_path) for count in COUNTS]
        assert one.keys() == other.keys()
        far[row.name] = max(float(np.abs(one[key] - other[key]).max()) for key in one)
    assert far["batch_statistics"] > 1e-3
    assert far["loss_for_devices"] > 1e-3
    assert far["sharded_optimizer"] < 1e-5


def test_the_table_names_every_program_and_marks_are_in_the_files():
    files = {path.stem for path in FOLDER.glob("*/*.py")}
    assert files == {*table()["wrong"], *table()["lawful"]}
    assert all(row.lines for row in WRONG.values())
    assert sum("suspicious" in row for row in table()["lawful"].values()) * 2 >= len(LAWFUL)
