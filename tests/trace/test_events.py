"""Traces: canonical lines, digests, files, and requests in words."""

import hashlib
import json

import pytest

from simstrategy import tree
from simstrategy.errors import InvalidArgument
from simstrategy.trace import Event, Request, Trace, describe_request, describe_site, write_events

SUM = Request("all_reduce", "SUM", None, None, None, (((2,), "float32"),))
GATHER = Request("all_gather", None, 1, "f", None, (((2, None), "int32"),))


def filled(root="/home/user/project"):
    trace = Trace(root=root)
    trace.record(0, SUM, [1, 0], [("/home/user/project/train.py", 3), ("/home/user/project/sub/model.py", 4)])
    trace.record(1, GATHER, [None], [("/usr/lib/elsewhere.py", 5)])
    return trace


def test_an_event_is_one_line_of_canonical_json():
    assert [event.line() for event in filled().events()] == [
        (
            '{"axis":null,"dtypes":["float32"],"kind":"all_reduce","op":"SUM","replica":1,"shapes":[[2]],'
            '"site":"train.py:3","subject":null,"worker":0}'
        ),
        (
            '{"axis":null,"dtypes":["float32"],"kind":"all_reduce","op":"SUM","replica":0,"shapes":[[2]],'
            '"site":"sub/model.py:4","subject":null,"worker":0}'
        ),
        (
            '{"axis":1,"dtypes":["int32"],"kind":"all_gather","op":null,"replica":null,"shapes":[[2,null]],'
            '"site":"elsewhere.py:5","subject":"f","worker":1}'
        ),
    ]


def test_call_sites_inside_the_root_are_relative_and_others_are_file_names():
    sites = [event.site for event in filled().events()]
    assert sites == ["train.py:3", "sub/model.py:4", "elsewhere.py:5"]
    assert [event.site for event in filled(root=None).events()] == ["train.py:3", "model.py:4", "elsewhere.py:5"]
    assert next(event.site for event in filled(root="/home/user/proj").events()) == "train.py:3"


def test_two_folders_with_the_same_program_have_the_same_digest():
    one, other = Trace(root="/a"), Trace(root="/b/c")
    one.record(0, SUM, [0], [("/a/x/train.py", 1)])
    other.record(0, SUM, [0], [("/b/c/x/train.py", 1)])
    assert one.digest() == other.digest()


def test_the_digest_is_the_sha256_of_the_lines():
    lines = "\n".join(event.line() for event in filled().events())
    assert filled().digest() == hashlib.sha256(lines.encode()).hexdigest()
    assert Trace().digest() == hashlib.sha256(b"").hexdigest()


def test_anything_that_an_event_holds_changes_the_digest():
    def digest(worker=0, replica=0, file="/a.py", line=1, **fields):
        trace = Trace()
        trace.record(worker, SUM._replace(**fields), [replica], [(file, line)])
        return trace.digest()

    digests = [
        digest(),
        digest(worker=1),
        digest(replica=1),
        digest(replica=None),
        digest(file="/b.py"),
        digest(line=2),
        digest(kind="reduce"),
        digest(op="MEAN"),
        digest(axis=0),
        digest(subject="v"),
        digest(leaves=(((3,), "float32"),)),
        digest(leaves=(((2,), "float64"),)),
        digest(leaves=()),
    ]
    assert len(set(digests)) == len(digests)


def test_events_come_by_worker_where_one_is_asked_for():
    trace = filled()
    assert [event.worker for event in trace.events()] == [0, 0, 1]
    assert [event.replica for event in trace.events(worker=0)] == [1, 0]
    assert [event.kind for event in trace.events(worker=1)] == ["all_gather"]
    assert list(trace.events(worker=2)) == []


def test_what_is_written_is_read_back_equal(tmp_path):
    filled().write(tmp_path / "trace.jsonl")
    assert Trace.read(tmp_path / "trace.jsonl") == list(filled().events())
    lines = (tmp_path / "trace.jsonl").read_text().splitlines()
    assert json.loads(lines[0]) == {"format": "simstrategy-trace", "version": 1}
    assert len(lines) == 4
    write_events(tmp_path / "again.jsonl", Trace.read(tmp_path / "trace.jsonl"))
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "trace.jsonl").read_bytes()


def test_an_empty_trace_is_a_header(tmp_path):
    Trace().write(tmp_path / "trace.jsonl")
    assert Trace.read(tmp_path / "trace.jsonl") == []


@pytest.mark.parametrize("text", ["", '{"format": "other"}\n', '{"format": "simstrategy-trace", "version": 2}\n', "[]"])
def test_a_file_without_the_header_is_refused(tmp_path, text):
    file = tmp_path / "trace.jsonl"
    file.write_text(text)
    with pytest.raises(InvalidArgument, match="does not begin with the header of a trace of version 1"):
        Trace.read(file)


def test_a_damaged_line_is_named_by_file_and_line(tmp_path):
    file = tmp_path / "trace.jsonl"
    filled().write(file)
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines[:2], lines[2][:-7], lines[3]]))
    with pytest.raises(InvalidArgument, match=r"trace.jsonl:3 is not JSON .* damaged"):
        Trace.read(file)
    file.write_text("\n".join([*lines[:3], '{"kind": "all_reduce"}']))
    with pytest.raises(InvalidArgument, match=r"trace.jsonl:4 is no event of a trace: it needs the fields"):
        Trace.read(file)
    for wrong in ("[1]", "3", "null", lines[1].replace("[[2]]", "5"), lines[1].replace('"axis"', '"axes"')):
        file.write_text("\n".join([*lines[:3], wrong]))
        with pytest.raises(InvalidArgument, match=r"trace.jsonl:4 is no event"):
            Trace.read(file)


def test_a_request_is_written_in_words():
    structure = tree.flatten({"b": [0], "a": 0})[1]
    nest = Request("all_reduce", "MEAN", None, None, structure, (((2,), "float32"), ((), "int32")))
    assert describe_request(nest) == "all_reduce MEAN {'a': float32[2], 'b': [int32[]]}"
    assert describe_request(SUM) == "all_reduce SUM float32[2]"
    assert describe_request(GATHER) == "all_gather f axis=1 int32[2,?]"
    assert describe_request(Request("merge_call", None, None, "f", structure, ())) == "merge_call f {'a': *, 'b': [*]}"
    assert describe_request(Request("run", None, None, "f", None, ())) == "run f"


def test_a_site_is_written_as_file_name_and_line():
    assert describe_site(("/a/b/train.py", 31)) == "train.py:31"


def test_an_event_can_be_made_equal_by_hand():
    assert next(filled().events(worker=1)) == Event(
        1, None, "all_gather", None, 1, "f", ((2, None),), ("int32",), "elsewhere.py:5"
    )
