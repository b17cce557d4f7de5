"""What devices send each other is a value of each of them, also where all of it is equal.  Clauses: J-65"""

import numpy as np

from simstrategy_xla.mesh_check.jobs import Moment, Record, Site
from simstrategy_xla.mesh_check.points import facts_of


def outputs_of(kind):
    zeros = np.zeros(3, np.float32)
    site = Site(0, 0, kind, None, "train.py:7", False, 2, 1)
    moments = tuple([Moment(0, device, (zeros + device, zeros)) for device in range(2)])
    (point,) = facts_of(Record((site,), moments)).points
    return point.outputs


def test_zeros_that_all_stages_of_a_pipeline_send_are_not_combined():
    assert outputs_of("permute") == ()
    assert len(outputs_of("all_gather")) == 1


def test_state_that_enters_in_parts_has_no_rows_of_examples():
    weights, rows = [[np.arange(4, dtype=np.float32) + first + step for step in range(2)] for first in (0, 9)]
    enter = Site(0, 0, "enter", None, "train.py:5", False, 1, 2, names=("weights", "rows"), cut=(0, 0))
    leave = Site(1, 0, "leave", None, "train.py:5", False, 1, 0, names=("result",), cut=(0,))
    moments = [
        moment
        for step in range(2)
        for moment in (Moment(0, 0, (weights[step], rows[step])), Moment(1, 0, (weights[step] + 1,)))
    ]
    assert [one.name for one in facts_of(Record((enter, leave), tuple(moments))).named] == ["rows", "rows"]
