"""What the names of a script hold, line by line, as a rank notes it for a cause.

Clause: G-33.
"""

import sys
import textwrap

import numpy as np
import torch
from torch.utils.data import DistributedSampler

from simstrategy_torch_distributed.checking.tracing import traced_in
from simstrategy_torch_distributed.watched.contents import attributes_of, contents_of
from simstrategy_torch_distributed.watched.names import Names


def traced(tmp_path, source, **given):
    """Runs a script in this process; returns what its names held, and its lines."""
    script, file = tmp_path / "script.py", tmp_path / "rank0"
    script.write_text(textwrap.dedent(source))
    code = compile(script.read_text(), str(script), "exec")
    names, before = Names(str(file), lambda: 1, lambda: 0), sys.gettrace()
    try:
        names.begin()
        exec(code, {"__name__": "__main__", "torch": torch, **given})
    finally:
        names.end()
        sys.settrace(before)
    found = traced_in([file])
    return found.held[0], found.lines[0]


def shown(held):
    return [(one.site, one.name, [leaf.tolist() for leaf in one.leaves]) for one in held if one.leaves]


def test_a_line_notes_what_it_stores_and_what_it_changes_in_place(tmp_path):
    held, lines = traced(
        tmp_path,
        """\
        total = torch.zeros(2)
        for step in range(2):
            total += 1
        total.mul_(3)
        """,
    )
    assert shown(held) == [
        ("script.py:1", "total", [[0.0, 0.0]]),
        ("script.py:2", "step", [0]),
        ("script.py:3", "total", [[1.0, 1.0]]),
        ("script.py:2", "step", [1]),
        ("script.py:3", "total", [[2.0, 2.0]]),
        ("script.py:4", "total", [[6.0, 6.0]]),
    ]
    assert [line for line, _ in lines].count("script.py:3") == 2


def test_what_is_written_into_memory_without_values_is_noted_whatever_was_there(tmp_path):
    """Clause: G-33."""
    made = ("empty", torch.zeros)  # such memory has the values by chance that are written later
    held, _ = traced(
        tmp_path,
        """\
        first = empty(2)
        second = empty(2)
        third = [empty(2), empty(2)]
        count = len(first)
        first.zero_()
        torch.mul(first, 0, out=second)
        third[0] = first
        second[0] = 0
        """,
        **{made[0]: made[1]},
    )
    assert [(site, name) for site, name, _ in shown(held)] == [
        ("script.py:4", "count"),
        ("script.py:5", "first"),
        ("script.py:6", "second"),
        ("script.py:7", "third"),
    ]


def test_functions_note_arguments_and_what_they_return_with_the_lines_that_led_there(tmp_path):
    held, _ = traced(
        tmp_path,
        """\
        def half(value):
            return value / 2

        def outer():
            return half(torch.ones(1, requires_grad=True) * 3)

        loss = outer()
        """,
    )
    found = {(one.site, one.name): one for one in held}
    returned = found["script.py:2", "half()"]
    assert returned.callers[:2] == ("script.py:5", "script.py:7")
    assert returned.is_graded
    assert found["script.py:1", "value"].frame == returned.frame != found["script.py:5", "outer()"].frame
    assert found["script.py:7", "loss"].leaves[0].tolist() == [1.5]


def test_attributes_of_the_scripts_objects_and_epochs_of_samplers_are_noted_when_they_are_set(tmp_path):
    sampler = DistributedSampler(range(8), num_replicas=2, rank=0)
    held, _ = traced(
        tmp_path,
        """\
        class Metric:
            def __init__(self):
                self.total = 0.0

            def update(self, value):
                self.total += value

        metric = Metric()
        metric.update(2.5)
        sampler.set_epoch(0)
        """,
        sampler=sampler,
    )
    attributes = [(one.site, one.attribute, one.leaves[0].item()) for one in held if one.attribute and one.leaves]
    assert ("script.py:3", "Metric.total", 0.0) in attributes
    assert ("script.py:6", "Metric.total", 2.5) in attributes
    assert attributes[-1] == ("script.py:10", "DistributedSampler.epoch", 0)


def test_memory_without_values_is_noted_when_it_has_some(tmp_path):
    held, _ = traced(
        tmp_path,
        """\
        pieces = [torch.empty(2) for _ in range(1)]
        pieces[0].copy_(torch.ones(2))
        """,
    )
    assert shown(held) == [("script.py:2", "pieces", [[1.0, 1.0]])]


def test_draws_from_torchs_generator_are_noted(tmp_path):
    state = torch.get_rng_state()
    try:
        held, _ = traced(tmp_path, "start = 1\nnoise = torch.rand(1)\n")
    finally:
        torch.set_rng_state(state)
    assert [one.site for one in held if one.attribute] == ["script.py:2"]


def test_large_values_and_others_than_numbers_are_left_out():
    assert contents_of(torch.zeros(1 << 15)) is None
    assert contents_of(object()) is None
    assert contents_of([1, "text"]) is None
    assert contents_of(torch.zeros(2, dtype=torch.complex64)) is None
    assert contents_of("key").text == "key"
    assert [leaf.tolist() for leaf in contents_of({"a": np.float32([2]), "b": (1, True)}).leaves] == [[2.0], 1, True]
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.25)
    assert [(name, held.leaves[0].item()) for name, held in attributes_of(optimizer)] == [("lr", 0.25)]
