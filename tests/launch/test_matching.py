"""The calls of workers are compared in their order, and what ends a run names every worker.

Clauses: J-45, J-46.
"""

from simstrategy.launch.calls import Call, call_of, message_of
from simstrategy.launch.matching import Finding, Matching, Unequal

SUM = Call("all_reduce SUM", (((2,), "float32"),), ("train.py", 31))
MEAN = SUM._replace(what="all_reduce MEAN", site=("train.py", 40))


def matching(*calls: list[Call]) -> Matching:
    found = Matching(len(calls))
    for worker, made in enumerate(calls):
        for call in made:
            found.called(worker, call_of(message_of(call)))
    return found


def test_workers_that_make_the_same_calls_go_on_and_may_end() -> None:
    found = matching([SUM, MEAN], [SUM, MEAN], [SUM])
    assert found.finding() is None
    found.called(2, MEAN)
    for worker in range(3):
        found.returned(worker)
        assert found.finding() is None


def test_a_worker_that_calls_something_else_is_named_with_the_lines_of_all() -> None:
    finding = matching([SUM, SUM], [SUM, MEAN], [SUM, SUM]).finding()
    assert finding is not None
    kind, text = finding
    assert (kind, text.splitlines()[1:]) == (
        "ReplicasDisagree",
        [
            "  worker 0: all_reduce SUM float32[2] at train.py:31",
            "  worker 1: all_reduce MEAN float32[2] at train.py:40",
            "  worker 2: all_reduce SUM float32[2] at train.py:31",
        ],
    )


def test_a_worker_that_returns_while_another_one_waits_is_named_before_the_third_comes() -> None:
    found = matching([SUM], [], [])
    assert found.finding() is None  # worker 1 may still come
    found.returned(1)
    finding = found.finding()
    assert finding is not None
    assert finding.text.splitlines()[1:] == [
        "  worker 0: all_reduce SUM float32[2] at train.py:31",
        "  worker 1: returned from the program",
        "  worker 2: has made no further call",
    ]


def test_an_exception_of_one_worker_is_what_is_reported_where_others_wait_for_it() -> None:
    found = matching([SUM], [])
    found.raised(1, "KeyError", "'mine'", "raised at train.py:9")
    assert found.finding() == Finding(
        "KeyError",
        "'mine' (in worker 1, raised at train.py:9). The others wait:\n"
        "  worker 0: all_reduce SUM float32[2] at train.py:31",
    )


def test_sizes_that_may_differ_do_not_make_calls_differ() -> None:
    rows = SUM._replace(forms=(((None, 3), "float32"),))
    assert matching([rows], [SUM._replace(forms=(((4, 3), "float32"),))]).finding() is None
    assert matching([rows], [SUM._replace(forms=(((4, 2), "float32"),))]).finding() is not None


def test_the_first_call_of_a_line_with_unequal_copies_is_kept_and_ends_nothing() -> None:
    one, other = [SUM._replace(copies=("", digest)) for digest in ("aa", "bb")]
    found = matching([SUM, one, other], [SUM, one, one], [SUM, one, other])
    assert found.finding() is None
    assert found.unequal == (Unequal(3, 1, other, (0, 2)),)
    unknown = matching([SUM._replace(copies=("aa",))], [SUM._replace(copies=("",))])
    assert unknown.finding() is None
    assert unknown.unequal == ()


def test_every_value_with_unequal_copies_is_kept_once_for_each_line_and_no_other_line_hides_it() -> None:
    line, other = [SUM._replace(site=("train.py", number)) for number in (3, 4)]
    mine = [one._replace(copies=("whole aa", "aa")) for one in (line, line, other)]
    copies = [("whole bb", "aa"), ("whole bb", "bb"), ("whole aa", "bb")]
    theirs = [one._replace(copies=digests) for one, digests in zip((line, line, other), copies, strict=True)]
    found = matching(mine, theirs)
    assert found.finding() is None
    assert [(one.number, one.value, one.call.site[1]) for one in found.unequal] == [(1, 0, 3), (2, 1, 3), (3, 1, 4)]
