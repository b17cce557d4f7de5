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
