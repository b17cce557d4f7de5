"""Programs whose errors, objects and files are unusual: judged, and named, as all others.

Clauses: J-5, M-3
"""

import asyncio
import enum
import functools
import subprocess
import sys
from pathlib import Path, PosixPath
from typing import Any

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.check.outcome import program_name, source_of


class Masked(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return "***"


class MaskedBytes(bytes):
    def __repr__(self) -> str:
        return "***"


class Choice(str, enum.Enum):  # noqa: UP042 - as programs have it
    RIGHT = "right"
    WRONG = "wrong"

    def __repr__(self) -> str:
        return "***"


class Hidden(Exception):
    def __repr__(self) -> str:
        return "***"


class HiddenPath(PosixPath):
    def __repr__(self) -> str:
        return "***"


class Key:
    def __init__(self, word: str) -> None:
        self.word = word


HIDING = {
    "text": Masked,
    "bytes": lambda word: MaskedBytes(word.encode()),
    "key": lambda word: {Masked(word): 1},
    "item": lambda word: {Masked(word)},
    "choice": Choice,
    "error": Hidden,
    "object key": lambda word: {Key(word): 1},
    "path": HiddenPath,
}


@pytest.mark.parametrize("make", HIDING.values(), ids=HIDING)
def test_a_repr_of_its_own_hides_no_text(make: Any) -> None:
    def returning(*words: str) -> Any:
        return ss.check(lambda strategy: make(words[strategy.num_replicas_in_sync - 1]), replicas=[1, 2])

    assert returning("right", "right").verdict == "agree"
    assert returning("right", "wrong").verdict == "differ"


def test_a_text_of_another_class_is_another_result() -> None:
    report = ss.check(lambda strategy: (str, Masked)[strategy.num_replicas_in_sync - 1]("right"), replicas=[1, 2])
    assert report.verdict == "differ"


class Textless(Exception):
    def __str__(self) -> str:
        return 3  # type: ignore[return-value] # noqa: PLE0307


class Unnoted(Exception):
    def add_note(self, note: str) -> None:
        raise ValueError("no notes")


class Ending(BaseException):
    pass


def with_other_notes() -> Exception:
    error = ValueError("mine")
    vars(error)["__notes__"] = 5
    return error


ERRORS = {
    "textless": Textless,
    "unnoted": Unnoted,
    "other notes": with_other_notes,
    "cancelled": asyncio.CancelledError,
    "base": Ending,
    "generator exit": GeneratorExit,
}


@pytest.mark.parametrize("in_replica", [False, True])
@pytest.mark.parametrize("make", ERRORS.values(), ids=ERRORS)
def test_an_unusual_error_is_an_outcome_with_its_line(make: Any, in_replica: bool) -> None:
    def step() -> Any:
        if ss.get_replica_context().num_replicas_in_sync == 2:
            raise make()
        return ss.get_replica_context().all_reduce("SUM", np.float32(1))

    def program(strategy: ss.Strategy) -> Any:
        if in_replica:
            return strategy.run(step)
        if strategy.num_replicas_in_sync == 2:
            raise make()
        return 1

    report = ss.check(program, replicas=[1, 2])
    assert report.verdict == "differ"
    line = (step if in_replica else program).__code__.co_firstlineno + (2 if in_replica else 4)
    assert f"{type(make()).__name__} raised at test_odd_programs.py:{line}" in str(report)


@pytest.mark.parametrize("kind", [Textless, Unnoted])
def test_a_replica_s_error_stays_what_it_is(kind: type[Exception]) -> None:
    strategy = ss.Strategy.mirrored("sim", replicas=2)

    def step() -> None:
        raise kind

    with pytest.raises(kind):
        strategy.run(step)
    strategy.close()


def logged(function: Any) -> Any:
    @functools.wraps(function)
    def call(*values: Any) -> Any:
        return function(*values)

    return call


class Called:
    def __call__(self, strategy: ss.Strategy) -> int:
        return 1

    def __repr__(self) -> str:
        raise ValueError("no text")


class Lookup:
    __call__ = dict.get

    def __repr__(self) -> str:
        raise ValueError("no text")


def test_a_program_is_named_by_the_file_of_its_function(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("def program(strategy):\n    return 1\n")
    names: dict[str, Any] = {}
    exec(compile((tmp_path / "train.py").read_text(), str(tmp_path / "train.py"), "exec"), names)
    program = names["program"]
    for one in (program, logged(program), functools.partial(logged(program)), functools.lru_cache(logged(program))):
        assert program_name(one) == "train.py"
        assert source_of(one)["file"] == "train.py"
    assert program_name(Called()) == Path(__file__).name
    assert program_name(Lookup()) == "<Lookup without a repr>"
    assert ss.check(Called(), replicas=[1, 2]).verdict == "agree"


def test_the_source_of_a_file_that_is_not_utf_8_is_shown_as_far_as_it_can_be(tmp_path: Path) -> None:
    (tmp_path / "old.py").write_bytes(b"# caf\xe9\r\ndef program(strategy):\r\n    return 1\r\n")
    names: dict[str, Any] = {}
    exec(compile("\ndef program(strategy):\n    return 1\n", str(tmp_path / "old.py"), "exec"), names)
    assert source_of(names["program"])["text"].splitlines()[:2] == ["# caf\ufffd", "def program(strategy):"]


CROSSED = """
import sys
import numpy as np
import simstrategy as ss
from {} import sync

def step():
    if ss.get_replica_context().replica_id_in_sync_group:
        return sync()
    return sync()

ss.Strategy.mirrored("sim", replicas=2, checks="strict").run(step)
"""
HELPER = """
import numpy as np
import simstrategy as ss

def sync():
    return ss.get_replica_context().all_reduce("SUM", np.float32(1))
"""


@pytest.mark.parametrize("name", ["simstrategy_helpers", "helpers"])
def test_a_module_of_the_user_s_is_no_library_whatever_its_name(tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.py").write_text(HELPER)
    (tmp_path / "train.py").write_text(CROSSED.format(name))
    done = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "ReplicasDisagree" in done.stderr
    assert f"{name}.py:6 called from train.py:" in done.stderr
