"""Backends of torch.distributed under examination: a right one in Python, wrong ones, and what a world does of each.

The backends are in `c10d_vendor`, as modules that a vendor might have.
"""

import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from shares import one_in

from simstrategy.errors import BackendUnavailable, InvalidArgument
from simstrategy_conformance.c10d.names import named
from simstrategy_conformance.c10d.offers import Offers
from simstrategy_conformance.c10d.subject import C10dSubject
from simstrategy_conformance.c10d.world import Lost
from simstrategy_conformance.covering import Lengths, Row
from simstrategy_conformance.index import entries, failure_of
from simstrategy_conformance.profiles import Profile
from simstrategy_conformance.tally import noted

pytest.importorskip("torch")
pytestmark = pytest.mark.slow

FEW = Profile("few", 2, replicas_max=4, triples=False)
TESTS = {entry.name: entry for entry in entries("c10d:gloo")}


@pytest.fixture(scope="module")
def subject_of() -> Iterator[Callable[..., C10dSubject]]:
    """Returns the subject of a name; its worlds end with the tests of this file."""
    folder = str(Path(__file__).parent / "c10d_vendor")
    sys.path.insert(0, folder)
    opened: dict[str, C10dSubject] = {}

    def make(name: str) -> C10dSubject:
        if name not in opened:
            opened[name] = C10dSubject(name, profile=FEW)
        return opened[name]

    yield make
    for one in opened.values():
        one.close()
    sys.path.remove(folder)


def broken(subject: C10dSubject, test: str) -> str:
    """Returns the text of a test's failure, "" where it passes."""
    error = failure_of(TESTS[test], subject)
    return "" if error is None else f"{error} {getattr(error, '__notes__', '')}"


WRONG = {
    "sumsatfive": ("W-4", "test_averages_and_scaled_sums", "Row(ranks=5, op='AVG'"),
    "readsmemory": ("W-16", "test_views_that_are_not_contiguous", "strided=True"),
    "losesthelast": ("W-6", "test_broadcast", "element [1000]"),
    "takesworldranks": ("W-15", "test_groups_of_some_ranks", "part='"),
    "neverwaits": ("W-14", "test_asynchronous_calls", "is_completed() is True before rank"),
    "reportsearly": ("W-14", "test_asynchronous_calls", "is_completed() is True before rank"),
    "otherdtype": ("W-3", "test_all_reduce", "float16"),
    "falls_back": ("W-1", "test_the_named_backend_does_the_work", "ProcessGroupGloo"),
    "averagesovertheworld": ("W-4", "test_averages_and_scaled_sums", "part='"),
    "passesthebarrier": ("W-13", "test_barrier", "left before rank"),
    "gathersbygloo": ("W-1", "test_the_named_backend_does_the_work_of_every_call", "gather: the work was done by gloo"),
    "keepspacked": ("W-3", "test_all_reduce", "again=True"),
    "sendslater": ("W-11", "test_send_and_recv", "what was received"),
    "leastofbytes": ("W-3", "test_all_reduce", "op='MAX', dtype='int8'"),
    "readsinorder": ("W-16", "test_transposed_tensors", "strided='transposed'"),
    "oneatatime": ("W-14", "test_several_asynchronous_calls_at_once", "of 3"),
    "handson": ("W-1", "test_the_named_backend_does_the_work", "gloo:all_reduce"),
}


@pytest.mark.parametrize("name", one_in(9, WRONG))
def test_a_wrong_backend_breaks_the_clause_of_its_mistake(subject_of: Callable[..., C10dSubject], name: str) -> None:
    clause, test, words = WRONG[name]
    assert clause in TESTS[test].clauses
    found = broken(subject_of(f"c10d:wrong_groups:{name}"), test)
    assert words in found
    assert "Alone, on a backend that is opened anew" not in found
    answers = subject_of(f"c10d:wrong_groups:{name}").answers("numbers", Row(ranks=2))
    assert [one.status for one in answers] == ["right", "right"]


def test_a_wrong_barrier_is_no_fault_of_messages(subject_of: Callable[..., C10dSubject]) -> None:
    assert broken(subject_of("c10d:wrong_groups:passesthebarrier"), "test_recv_without_a_source") == ""


def test_a_call_that_fails_is_no_work_of_another_backend(subject_of: Callable[..., C10dSubject]) -> None:
    subject = subject_of("c10d:wrong_groups:losesthelast")
    assert broken(subject, "test_broadcast") != ""
    assert subject.is_faulty("broadcast")
    assert broken(subject, "test_the_named_backend_does_the_work_of_every_call") == ""
    found = noted.pop("test_the_named_backend_does_the_work_of_every_call")
    assert found == [("done by", "all calls but those that fail: broadcast")]


READING = (
    "all_gather_coalesced", "all_to_all", "all_to_all_single", "batch_isend_irecv", "isend_irecv", "reduce_scatter",
    "reduce_scatter_single", "scatter",
)  # fmt: skip


@pytest.mark.parametrize("call", READING)
def test_an_input_that_is_overwritten_is_seen(subject_of: Callable[..., C10dSubject], call: str) -> None:
    row = Row(ranks=2, lengths=Lengths(7))
    found = [one.text for one in subject_of("c10d:wrong_groups:clobbers").answers(call, row) if one.status == "wrong"]
    assert any(text.startswith(("the input: ", "input ")) for text in found), found


@pytest.mark.parametrize("call", ["all_reduce", "all_reduce_rounded", "broadcast", "send_recv"])
def test_a_result_of_the_call_before_is_seen(subject_of: Callable[..., C10dSubject], call: str) -> None:
    subject = subject_of("c10d:wrong_groups:stale")
    row = Row(ranks=2, lengths=Lengths(7), again=True)
    assert "wrong" in {one.status for one in subject.answers(call, row)}
    subject.close()


def test_a_row_that_fails_only_after_others_is_told_apart(subject_of: Callable[..., C10dSubject]) -> None:
    found = broken(subject_of("c10d:wrong_groups:stale"), "test_broadcast")
    assert "Alone, on a backend that is opened anew, this row passes" in found


@pytest.mark.parametrize("test", ["test_all_reduce", "test_all_to_all_single"])
def test_a_right_backend_in_python_keeps_the_clauses(subject_of: Callable[..., C10dSubject], test: str) -> None:
    assert broken(subject_of("c10d:stored_group:stored"), test) == ""


@pytest.mark.parametrize(
    "test",
    sorted({name for name in TESTS if name.startswith(("test_asynch", "test_groups", "test_views", "test_ranks"))}),
)
def test_a_right_backend_in_python_keeps_the_forms_of_calls(subject_of: Callable[..., C10dSubject], test: str) -> None:
    assert broken(subject_of("c10d:stored_group:stored"), test) == ""


def test_the_fake_group_communicates_nothing_and_is_found_out(subject_of: Callable[..., C10dSubject]) -> None:
    subject = subject_of("c10d:fake")
    assert "fake" in " ".join(str(one) for one in subject.answers("evidence", Row(ranks=2)))
    for call in ("all_reduce", "broadcast", "all_gather_object"):
        assert "wrong" in {one.status for one in subject.answers(call, Row(ranks=2))}, call
    assert broken(subject, "test_barrier") != ""


def test_the_threaded_group_of_torch_is_a_world_of_threads(subject_of: Callable[..., C10dSubject]) -> None:
    subject = subject_of("c10d:threaded")
    assert [one.text for one in subject.answers("numbers", Row(ranks=3))] == ["", "", ""]
    assert [one.status for one in subject.answers("broadcast", Row(ranks=3, root="last"))] == ["right"] * 3
    assert {one.status for one in subject.answers("send_recv", Row(ranks=3))} == {"refused"}


def test_gloo_does_its_own_work_and_refuses_what_it_has_not(subject_of: Callable[..., C10dSubject]) -> None:
    subject = subject_of("c10d:gloo")
    for answer in subject.answers("evidence", Row(ranks=2)):
        assert answer.status == "seen"
        assert "gloo:all_reduce" in answer.text
    rows = [Row(ranks=3, op="AVG", dtype="int64"), Row(ranks=3, op="SUM", dtype="uint16")]
    for row in rows:
        subject.examine("all_reduce", row, test="of this test")
    with pytest.raises(pytest.skip.Exception, match="offers nothing of this"):
        subject.require_offer("of this test")
    subject.note("of this test")
    assert {kind for kind, _ in noted.pop("of this test")} == {"not offered"}


def test_what_some_rows_of_a_dtype_are_refused_is_a_fault() -> None:
    offers = Offers()
    offers.count("fault", "all_reduce", Row(ranks=1), "")
    offers.count("fault", "all_reduce", Row(ranks=2, dtype="int8"), "TypeError: no")
    assert offers.refusal("fault") == "TypeError: no", "a row of one rank offers nothing"
    offers.count("fault", "all_reduce", Row(ranks=2), "")
    assert offers.refusal("fault") == ""
    assert offers.lines("fault") == ["all_reduce: int8 (TypeError: no)"]
    with pytest.raises(AssertionError, match=r"refuses Row\(ranks=3\), and carries out Row\(\): RuntimeError: not"):
        offers.count("fault", "all_reduce", Row(ranks=3), "RuntimeError: not today")
    offers.count("fault", "all_reduce", Row(ranks=3, strided=True), "RuntimeError: no views")


def test_a_rank_that_crashes_is_named_with_its_signal_and_row(subject_of: Callable[..., C10dSubject]) -> None:
    found = broken(subject_of("c10d:wrong_groups:crashes"), "test_all_reduce")
    assert "SIGSEGV" in found
    assert "Row(ranks=1" in found
    assert broken(subject_of("c10d:wrong_groups:crashes"), "test_ranks_are_numbered_in_the_world_and_in_groups") == ""


@pytest.mark.deep
def test_ranks_that_hang_are_named_and_do_not_keep_the_kit(subject_of: Callable[..., C10dSubject]) -> None:
    subject = C10dSubject("c10d:wrong_groups:hangs", profile=FEW, limit_s=3.0, lost_max=2)
    with pytest.raises(Lost, match="broadcast: ranks 0, 1 of 2 did not answer in time"):
        subject.answers("broadcast", Row(ranks=2, lengths=Lengths(2)))
    assert [one.status for one in subject.answers("barrier", Row(ranks=2))] == ["right", "right"]
    with pytest.raises(Lost, match="rank 0 of 1 did not answer"):
        subject.answers("broadcast", Row(ranks=1))
    with pytest.raises(pytest.skip.Exception, match="Not tried: 2 worlds were lost"):
        subject.answers("barrier", Row(ranks=1))
    subject.close()


@pytest.mark.usefixtures("subject_of")
def test_of_a_hang_the_answers_and_the_stacks_are_shown() -> None:
    subject = C10dSubject("c10d:wrong_groups:refusesalone", profile=FEW, limit_s=3.0)
    with pytest.raises(Lost) as found:
        subject.answers("broadcast", Row(ranks=3, lengths=Lengths(2)))
    subject.close()
    text = str(found.value)
    assert "broadcast: ranks 1, 2 of 3 did not answer in time" in text
    assert "\n  rank 0 of 3, refused: NotImplementedError: rank 0 has no root\n" in text
    stack = text.partition("\n  ranks 1, 2 are at, last call first:\n")[2].splitlines()
    assert any(line.endswith("in broadcast") and "wrong_groups.py" in line for line in stack[:4]), text


BEGINNINGS = {
    "c10d:nonsense": "has no backend 'nonsense'; here it has .*gloo",
    "c10d:no_such_module:acme": "No module named 'no_such_module'",
    "c10d:mpi": "built without mpi",
    "c10d:ucc": "built without ucc",
    "c10d:wrong_groups:no_group": "OSError: no device of Acme",
    "c10d:wrong_groups:crash": "SIGSEGV",
    "c10d:wrong_groups:hang": "did not answer in time",
}


@pytest.mark.parametrize("name", BEGINNINGS)
def test_a_backend_that_cannot_be_joined_is_refused_with_the_reason(
    subject_of: Callable[..., C10dSubject], name: str
) -> None:
    subject = C10dSubject(name, profile=FEW, start_s=2.0 if name.endswith(":hang") else 60.0)
    with pytest.raises(BackendUnavailable, match=BEGINNINGS[name]):
        subject.require_usable()
    subject.close()


@pytest.mark.parametrize("name", ["c10d:", "c10d:a b", "c10d:a:b:c", "c10d:../x", "gloo"])
def test_a_name_of_another_form_is_refused(name: str) -> None:
    with pytest.raises(InvalidArgument, match="Write c10d:NAME, or c10d:MODULE:NAME"):
        named(name)


SAYS_THAT_IT_HANGS = """
import os
from wrong_groups import Hangs, register

class Says(Hangs):
    def broadcast(self, tensors, opts):
        os.write(os.open("hang", os.O_WRONLY), b"!")
        super().broadcast(tensors, opts)

register("says", Says)
"""
KILLED = """
from simstrategy_conformance.c10d.names import named
from simstrategy_conformance.c10d.world import World
from simstrategy_conformance.covering import Row

if __name__ == "__main__":
    world = World(named("c10d:saying:says"), 2, limit_s=600.0, start_s=120.0)
    print(world._folder, *world._processes.values(), flush=True)
    world.carry_out("broadcast", Row(ranks=2))
"""


@pytest.mark.usefixtures("subject_of")
def test_ranks_that_hang_end_when_the_kit_is_killed_and_leave_nothing(tmp_path: Path) -> None:
    (tmp_path / "saying.py").write_text(SAYS_THAT_IT_HANGS)
    (tmp_path / "killed.py").write_text(KILLED)
    os.mkfifo(tmp_path / "hang")
    paths = [str(tmp_path), str(Path(__file__).parent / "c10d_vendor"), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "killed.py"]
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as kit:
        assert kit.stdout is not None
        folder, *ranks = kit.stdout.readline().split()
        with (tmp_path / "hang").open("rb") as hang:
            assert hang.read(len(ranks)) == b"!!"
        ends = select.poll()
        for rank in ranks:
            ends.register(os.pidfd_open(int(rank)), select.POLLIN)
        kit.kill()
    while ranks:
        ended = ends.poll(30_000)
        assert ended, "a rank runs 30 s after the kit was killed"
        for descriptor, _ in ended:
            ends.unregister(descriptor)
            os.close(descriptor)
            ranks.pop()
    assert not Path(folder).exists()
