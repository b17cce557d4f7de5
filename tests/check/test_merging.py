"""The outcomes of workers become one, as one process with as many replicas has it.

Clauses: J-47.
"""

from typing import Any

import numpy as np

from simstrategy.check.merging import by_replica, merged
from simstrategy.check.outcome import Outcome, VariableKind


def outcome(leaves: dict[str, Any], structure: dict[str, str] | None = None) -> Outcome:
    arrays = tuple([(path, np.asarray(value)) for path, value in leaves.items()])
    return Outcome(arrays, None, (), structure=tuple((structure or {}).items()))


def test_each_workers_values_stand_where_one_process_has_those_of_its_replica() -> None:
    kinds = (VariableKind("variable 0 'w'", "mirrored", "", "NONE"),)
    worker = [
        outcome(
            {
                "result['local'][0]": 1.0 + number,
                "result['of each'] of local replica 0": [number],
                "result['own']": 5.0 + number,
                "result['same']": 7.0,
                "variable 0 'w', replica 0": 3.0 + number,
            }
            | ({"result['only']": 1.0} if number == 0 else {}),
            {"result['local']": "tuple of 1", "result['of each']": "PerReplica of 1"},
        )._replace(variables=kinds)
        for number in range(2)
    ]
    one = outcome({"result['same']": 7.0}, {"result['local']": "tuple of 2"})
    found = merged(worker, one)
    assert {path: leaf.tolist() for path, leaf in found.leaves} == {
        "result['local'][0]": 1.0,
        "result['local'][1]": 2.0,
        "result['of each'] of local replica 0": [0],
        "result['of each'] of local replica 1": [1],
        "result['own'] of local replica 0": 5.0,
        "result['own'] of local replica 1": 6.0,
        "result['same']": 7.0,
        "variable 0 'w', replica 0": 3.0,
        "variable 0 'w', replica 1": 4.0,
    }
    assert dict(found.structure)["result['local']"] == "tuple of 2"
    assert found.partly == (("result['only']", "it is in the result of worker 0 alone"),)


def test_a_container_that_some_workers_alone_have_is_that_of_one_process_or_left_out() -> None:
    worker = [
        outcome({"result['a']": 1.0, "result['b']['c']": 2.0}, {"result": "dict a b", "result['b']": "dict c"}),
        outcome({"result": "None"}),
    ]
    one = outcome({"result['a']": 1.0}, {"result": "dict a"})
    for outcomes in (worker, worker[::-1]):
        found = merged(outcomes, one)
        assert dict(found.structure) == {"result": "dict a", "result['a']": "PerReplica of 2"}
        assert [path for path, _ in found.partly] == [
            path for path, _ in sum([one.leaves for one in outcomes], ()) if path != "result['a']"
        ]


def test_a_value_of_each_replica_is_compared_alone_and_keeps_its_exemption() -> None:
    both = outcome({"result['w'] of local replica 0": 1.0, "result['w'] of local replica 1": 2.0, "result['n']": 3.0})
    one, other = by_replica(both._replace(exempt=(("result['w']", "noise"),)), both)
    assert [path for path, _ in one.leaves] == [path for path, _ in other.leaves]
    assert one.leaves[0][0] == "result['w'] of replica 0"
    assert dict(one.exempt)["result['w'] of replica 1"] == "noise"
