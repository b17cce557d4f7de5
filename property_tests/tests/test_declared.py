"""What a backend declares of itself and the kit relies on is examined too."""

from dataclasses import replace

import pytest

from simstrategy.errors import InvalidArgument
from simstrategy_conformance.index import entries, failure_of
from simstrategy_conformance.profiles import Profile
from simstrategy_conformance.subject import Subject
from simstrategy_template import ToyBackend


def test_arrays_declared_mutable_that_cannot_be_written_to_are_no_proof(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (entry,) = [one for one in entries() if one.name == "test_what_is_declared_mutable_can_be_written_to"]
    subject = Subject("template", profile=Profile("few", 2, replicas_max=2))
    assert failure_of(entry, subject) is None
    monkeypatch.setattr(ToyBackend, "capabilities", replace(ToyBackend.capabilities, mutable_arrays=True))
    failure = failure_of(entry, subject)
    assert "declares mutable_arrays=True, and array[...] = 77 raises" in str(failure)


def test_a_backend_without_a_dtype_that_results_have_by_default_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    declared = replace(ToyBackend.capabilities, dtypes=frozenset({"float32", "float64"}))
    monkeypatch.setattr(ToyBackend, "capabilities", declared)
    subject = Subject("template", profile=Profile("few", 2, replicas_max=2))
    with pytest.raises(InvalidArgument, match=r"template has no int32, no bool among .* nothing was examined"):
        subject.open(2)
