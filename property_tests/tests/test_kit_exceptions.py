"""`conformance.toml`: what it may say, and the errors for what says nothing."""

import pytest

from simstrategy.errors import InvalidArgument
from simstrategy_conformance.exceptions import Excepted, exceptions_of, file_of, left_out, read_exceptions
from simstrategy_conformance.index import by_clause, entries

KNOWN = {"B-8": ("test_sum", "test_wrap"), "B-9": ("test_bound",)}
GOOD = '[[exception]]\nclause = "B-8"\nkind = "never"\nreason = "It cannot."\nlink = ""\n'


def read(tmp_path, text, backend="acme"):
    file = tmp_path / "conformance.toml"
    file.write_text(text)
    return read_exceptions(file, backend, KNOWN)


def test_an_exception_without_a_test_is_about_all_of_its_clause(tmp_path):
    (one,) = read(tmp_path, GOOD)
    assert one == Excepted("B-8", "never", "It cannot.", "", "")
    assert one.covers(("B-8",), "test_sum")
    assert not one.covers(("B-9",), "test_bound")


def test_an_exception_may_be_about_one_test_and_one_backend(tmp_path):
    text = GOOD + 'test = "test_wrap"\nbackend = "acme"\n'
    (one,) = read(tmp_path, text)
    assert one.covers(("B-8",), "test_wrap")
    assert not one.covers(("B-8",), "test_sum")
    assert read(tmp_path, text, "other") == ()


def test_an_exception_may_be_about_one_case_of_a_test(tmp_path):
    (one,) = read(tmp_path, GOOD + 'test = "test_wrap[exp]"\n')
    assert one.covers(("B-8",), "test_wrap[exp]")
    assert not one.covers(("B-8",), "test_wrap[sin]")
    assert not one.covers(("B-8",), "test_wrap")
    (all_of_it,) = read(tmp_path, GOOD + 'test = "test_wrap"\n')
    assert all_of_it.covers(("B-8",), "test_wrap[sin]")


def test_an_exception_may_hold_in_some_profiles_alone(tmp_path):
    file = tmp_path / "conformance.toml"
    file.write_text(GOOD + 'profiles = ["default", "deep"]\n')
    assert [len(read_exceptions(file, "acme", KNOWN, profile=one)) for one in ("quick", "default", "deep")] == [0, 1, 1]


def test_exceptions_that_are_not_applied_are_named(tmp_path):
    file = tmp_path / "conformance.toml"
    file.write_text(GOOD + 'backend = "acne"\n' + GOOD.replace("B-8", "B-9") + 'profiles = ["deep"]\n' + GOOD)
    assert left_out("acme", KNOWN, file, profile="quick") == (
        f"{file}: B-8 for acne alone; B-9 for profile deep. This is acme, profile quick."
    )
    assert left_out("acne", KNOWN, file, profile="deep") == ""


def test_an_empty_file_excepts_nothing(tmp_path):
    assert read(tmp_path, "") == ()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[exception", "cannot be read"),
        ("[exceptions]\n", "tables alone"),
        ('exception = "B-8"', "tables alone"),
        ("exception = [1]", "is no table"),
        (GOOD.replace("B-8", "Z-1"), "no clause 'Z-1'; there are B-8, B-9"),
        (GOOD + 'test = "test_bound"', "has no test 'test_bound'; it has test_sum, test_wrap"),
        (GOOD.replace("never", "later"), "kind is one of missing, upstream, never"),
        (GOOD.replace("It cannot.", ""), "missing: reason"),
        (GOOD.replace('link = ""', ""), "missing: link"),
        (GOOD + "why = 1", "unknown: why"),
        (GOOD + 'profiles = ["slow"]', "profiles is a list of quick, default, deep, not .'slow'."),
        (GOOD + 'profiles = "deep"', "profiles is a list of"),
        (GOOD.replace('"never"', "3"), "missing: kind"),
    ],
)
def test_a_file_that_says_nothing_is_refused(tmp_path, text, told):
    with pytest.raises(InvalidArgument, match=told):
        read(tmp_path, text)


def test_a_missing_file_and_one_that_is_no_text_are_told(tmp_path):
    with pytest.raises(InvalidArgument, match="cannot be read"):
        read_exceptions(tmp_path / "none.toml", "acme", KNOWN)
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidArgument, match="cannot be read"):
        read_exceptions(tmp_path / "bytes.toml", "acme", KNOWN)


def test_exceptions_lie_beside_the_package(tmp_path, monkeypatch):
    (tmp_path / "lone_backend.py").write_text("")
    (tmp_path / "conformance.toml").write_text(GOOD)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert file_of("lone_backend:open_it") == tmp_path / "conformance.toml"
    assert len(exceptions_of("lone_backend:open_it", KNOWN)) == 1
    assert file_of("nobody_has_this") is None
    assert exceptions_of("nobody_has_this", KNOWN) == ()


def test_every_test_of_the_kit_names_a_clause_and_has_a_name_of_its_own():
    found = entries()
    assert all(entry.clauses for entry in found)
    assert len({entry.name for entry in found}) == len(found)
    assert set(by_clause()) >= {f"B-{number}" for number in range(1, 21)}
