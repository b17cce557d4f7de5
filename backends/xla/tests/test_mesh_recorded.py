"""A recording of a run of a mesh for the page of a check, of what devices recorded: no process is started."""

import numpy as np

from simstrategy.check.contents import Contents
from simstrategy_xla.mesh_check.jobs import Found, Moment, Record, Site
from simstrategy_xla.mesh_check.recorded import places_of, recorded_run

SITES = (
    Site(0, 0, "enter", None, "train.py:9", in_loop=False, devices=2, inputs=0, names=("w", "x"), cut=(None, 0)),
    Site(1, 0, "mul", None, "train.py:5", in_loop=False, devices=2, inputs=0, own=True),
    Site(2, 0, "all_reduce", "MEAN", "train.py:6", in_loop=False, devices=2, inputs=1),
    Site(3, 0, "leave", None, "train.py:9", in_loop=False, devices=2, inputs=0, cut=(None,)),
)


def program(mesh):
    """Stands for the program: its file is the source of the recording."""


def found(error=None):
    moments = []
    for device, own in enumerate(np.float32([2.0, 5.0])):
        moments += [
            Moment(0, device, (np.float32(1.0), own)),
            Moment(1, device, (own,)),
            Moment(2, device, (own, np.float32(7.0))),
            Moment(3, device, (np.float32(3.5),)),
        ]
    contents = Contents([], [("result", np.float32(3.5))], [], [], [])
    record = Record(SITES, tuple(moments))
    return Found(contents, {}, {}, frozenset(), error, (), (), (), "a text\n", None, record)


def test_calls_are_points_and_what_lines_compute_are_values_of_names():
    recording = recorded_run(found(), program, 2)
    names = [(one.variable, one.site, [value.array.item() for value in one.after]) for one in recording.writes]
    assert names == [
        ("w", "train.py:9", [1, 1]),
        ("x", "train.py:9", [2, 5]),
        ("mul", "train.py:5", [2, 5]),
        ("result [0]", "train.py:9", [3.5, 3.5]),
    ]
    (point,) = recording.points
    assert (point.kind, point.op, point.step, point.sites) == ("all_reduce", "MEAN", 1, ("train.py:6",) * 2)
    assert [row[0].array.item() for row in point.inputs] == [2, 5]
    assert [row[0].array.item() for row in point.outputs] == [3.5, 3.5]
    assert recording.complete
    assert recording.prints[0].text == "a text\n"
    assert recording.header["source"]["file"] == "test_mesh_recorded.py"


def test_a_call_has_the_place_of_its_first_event():
    assert places_of(found(), program, 2) == [0, 2, 3, 4]


def test_a_run_that_raises_ends_with_its_error():
    assert recorded_run(found(("ValueError", "no")), program, 2).results[0].error == ("ValueError", "no")
