"""Recordings in files: versions, files that are cut off, damaged or none, and full disks.  Clauses: T-7, T-8"""

import json
import os
import socket

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.errors import InvalidArgument
from simstrategy.trace import Recorder, Trace, read


def program(strategy):
    with strategy.scope():
        total = ss.Variable(0.5, aggregation=ss.VariableAggregation.SUM, name="total")
    for number in range(3):
        strategy.run(lambda number=number: total.assign_add(np.float32(number)))


def record(file, **settings):
    recorder = Recorder(file)
    program(ss.Strategy.mirrored("sim", replicas=2, trace=recorder, **settings))
    return recorder


def test_a_file_holds_what_a_recording_in_memory_does(tmp_path):
    recorder = record(tmp_path / "a.jsonl")
    assert not recorder.recording().complete
    recorder.close()
    recorder.close()
    memory = record(None)
    memory.close()
    assert str(read(tmp_path / "a.jsonl")) == str(memory.recording()) == str(recorder.recording())
    assert read(tmp_path / "a.jsonl").complete


def test_the_same_run_has_the_same_bytes_and_another_has_others(tmp_path):
    for name, settings in (("a", {}), ("b", {}), ("c", {"seed": 1})):
        record(tmp_path / name, **settings).close()
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() != (tmp_path / "c").read_bytes()
    assert str(tmp_path) not in (tmp_path / "a").read_text()


def test_each_beginning_of_a_file_is_a_recording_that_says_it_has_no_end(tmp_path):
    file, part = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    record(file).close()
    data = file.read_bytes()
    whole = read(file)
    for size in range(data.index(b"\n") + 1, len(data) - 1, 7):
        part.write_bytes(data[:size])
        found = read(part)
        assert not found.complete
        assert found.points[:-1] == () or str(whole.points).startswith(str(found.points[:1])[:-2])
    part.write_bytes(data[:20])
    with pytest.raises(InvalidArgument, match="does not begin with the header of a recording"):
        read(part)


def test_a_killed_run_leaves_the_point_that_it_was_in(tmp_path):
    file = tmp_path / "a.jsonl"
    recorder = Recorder(file)

    def step():
        context = ss.get_replica_context()
        if context.replica_id_in_sync_group == 1:
            seen.append(read(file))
        context.all_reduce("SUM", 1.0)

    seen = []
    ss.Strategy.mirrored("sim", replicas=2, trace=recorder).run(step)
    (point,) = seen[0].points
    assert (point.kind, point.ended) == ("run", False)
    recorder.close()


def test_a_damaged_line_is_named(tmp_path):
    file = tmp_path / "a.jsonl"
    record(file).close()
    lines = file.read_text().splitlines()
    point = next(number for number, line in enumerate(lines) if line.startswith('{"point"'))
    for wrong, text in (
        (lines[point][:-5], "is not JSON"),
        ('{"other":1}', "is no line of a recording"),
        ("[1]", "is no line of a recording"),
        (lines[point].replace('"in":[[', '"in":[[99,'), "is no line of a recording"),
        (lines[point].replace('"step"', '"stop"'), "is no line of a recording"),
    ):
        file.write_text("\n".join([*lines[:point], wrong, *lines[point + 1 :], ""]))
        with pytest.raises(InvalidArgument, match=rf"a.jsonl:{point + 1} {text}"):
            read(file)


def test_a_field_of_another_type_is_named_with_its_line_and_never_taken_for_another_value(tmp_path):
    file = tmp_path / "a.jsonl"
    recorder = record(file)
    recorder.ended(0, [("result", np.float32(1.0))])
    recorder.close()
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    kinds = {next(iter(line)): number for number, line in enumerate(lines)}  # the last line of each kind
    assert {"value", "point", "end", "write", "result"} <= set(kinds)
    taken = []
    for kind, number in kinds.items():
        for field in lines[number]:
            for wrong in (-1, 1.5, "x", {"a": 1}, [-1], [[-1]], [["x"]]):
                changed = [*lines[:number], {**lines[number], field: wrong}, *lines[number + 1 :]]
                file.write_text("".join(json.dumps(line) + "\n" for line in changed))
                try:
                    read(file)
                    taken.append((kind, field, wrong))
                except InvalidArgument as error:
                    assert f"a.jsonl:{number + 1} " in str(error) or number == 0 or kind == "value", error  # noqa: PT017
    places = {"worker", "step", "value", "point", "end", "write", "in", "out", "before", "after", "shape", "replicas"}
    assert [one for one in taken if one[1] in places] == []
    texts = {"kind", "variable", "operation", "site", "dtype"}
    assert [one for one in taken if one[1] in texts and one[2] != "x"] == []


def test_a_point_that_comes_again_is_refused(tmp_path):
    file = tmp_path / "a.jsonl"
    record(file).close()
    lines = file.read_text().splitlines()
    point = next(number for number, line in enumerate(lines) if line.startswith('{"point"'))
    file.write_text("\n".join([*lines, lines[point], ""]))
    with pytest.raises(
        InvalidArgument, match=rf"a.jsonl:{len(lines) + 1} is no line of a recording \(ValueError: point"
    ):
        read(file)


def test_a_newer_version_is_refused(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text('{"format":"simstrategy-trace","version":3}\n{"unheard":0}\n')
    with pytest.raises(InvalidArgument, match="of version 3, and this simstrategy reads versions up to 2"):
        read(file)


@pytest.mark.parametrize("text", ["", "{}\n", "[]\n", '{"format":"other","version":2}\n', "null\n"])
def test_a_file_that_is_none_is_refused(tmp_path, text):
    (tmp_path / "a.jsonl").write_text(text)
    with pytest.raises(InvalidArgument, match="does not begin with the header of a recording"):
        read(tmp_path / "a.jsonl")


def test_a_trace_of_version_1_is_read_as_points_without_arrays(tmp_path):
    trace = Trace()
    strategy = ss.Strategy.mirrored("sim", replicas=2, trace=trace)

    def step():
        context = ss.get_replica_context()
        for _ in range(2):
            context.all_reduce("SUM", np.ones(3, np.float32))

    strategy.run(step)
    trace.write(tmp_path / "old.jsonl")
    found = read(tmp_path / "old.jsonl")
    assert [(point.kind, point.step, point.replicas) for point in found.points] == [
        ("run", 1, (None,)),
        ("all_reduce", 1, (0, 1)),
        ("all_reduce", 1, (0, 1)),
    ]
    ((value,), _) = found.points[1].inputs
    assert (value.dtype, value.shape, value.digest, value.array) == ("float32", (3,), "", None)
    assert found.header["version"] == 1
    assert found.complete
    record(tmp_path / "new.jsonl").close()
    with pytest.raises(InvalidArgument, match=r"a recording is read with ss\.trace\.read"):
        Trace.read(tmp_path / "new.jsonl")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_full_disk_does_not_end_the_program_and_is_an_error_at_the_close():
    recorder = record("/dev/full")
    with pytest.raises(InvalidArgument, match="/dev/full cannot be written to its end: No space left on device"):
        recorder.close()


def test_a_pipe_a_socket_a_folder_and_a_missing_folder_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(os.path.relpath(tmp_path / "socket"))
        for name in ("pipe", "socket", ".", "missing/a.jsonl"):
            with pytest.raises(InvalidArgument, match=r"is a pipe or a socket|cannot be written"):
                Recorder(tmp_path / name)


def test_a_file_stays_as_it_was_until_there_is_something_to_record(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text("kept")
    recorder = Recorder(file)
    assert file.read_text() == "kept"
    recorder.close()
    assert [*json.loads(file.read_text().splitlines()[1])] == ["closed"]
