"""The list of cases in which ours is not the recorded answer, on purpose; read from TOML.

Each entry states our answer, as text and in a form that can be compared. A case that is not listed by id has no
excuse here.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn, final

from golden_replay.cases import decoded
from simstrategy import errors
from simstrategy.errors import InvalidArgument
from simstrategy.strategy import PROFILES

__all__ = ["Deviation", "read_deviations"]

_TEXTS: Final = ("clause", "reason", "answer")
_EXPECTED: Final = ("as_in", "error", "expected")


@final
@dataclass(frozen=True, slots=True)
class Deviation:
    """Why cases deviate, and what we answer instead.

    answer: in words. Exactly one of the others is given: as_in is a release whose recorded answer is
    ours too, error the class of ours that is raised, expected our answer itself.
    """

    clause: str
    reason: str
    answer: str
    as_in: str | None = None
    error: str | None = None
    expected: Any = None

    def __post_init__(self) -> None:
        if sum(given is not None for given in (self.as_in, self.error, self.expected)) != 1:
            raise InvalidArgument("an entry has exactly one of `as_in`, `error` and `expected`")
        if self.error is not None and self.error not in errors.__all__:
            raise InvalidArgument(f"{self.error!r} is no error of simstrategy")


def read_deviations(file: str | Path, profile: str, backend: str = "sim") -> dict[str, Deviation]:
    """Returns a profile's entries by case id, those for every backend and those for this one.

    Raises InvalidArgument for a file that cannot be understood.
    """
    path = Path(file)
    if not path.is_file():
        raise InvalidArgument(f"There is no file {file}. Give a TOML file of deviations.")
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        _wrong(path, f"no TOML: {error}")
    for name, entries in tables.items():
        if name not in PROFILES:
            _wrong(path, f"{name} is no profile; there are {', '.join(PROFILES)}")
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            _wrong(path, f"{name} is no list of tables; write [[{name}]]")
    found: dict[str, Deviation] = {}
    for number, entry in enumerate(tables.get(profile, []), 1):
        where = f"entry {number} of {profile}"
        for one, deviation in _entry(path, where, entry):
            if backend not in entry.get("backends", [backend]):
                continue
            if one in found:
                _wrong(path, f"{where}: id {one} is listed twice")
            found[one] = deviation
    return found


def _entry(path: Path, where: str, entry: dict[str, Any]) -> list[tuple[str, Deviation]]:
    unknown = sorted(set(entry) - {*_TEXTS, *_EXPECTED, "ids", "backends"})
    if unknown:
        _wrong(path, f"{where}: unknown fields {unknown}")
    answers = entry.get("expected")
    if answers is not None and (not isinstance(answers, dict) or "ids" in entry):
        _wrong(path, f"{where}: `expected` is a table of answers by case id, without `ids` beside it")
    backends = entry.get("backends", [""])
    if not isinstance(backends, list) or not backends or not all(isinstance(one, str) for one in backends):
        _wrong(path, f"{where}: `backends` is no list of backends' names")
    ids = entry.get("ids") if answers is None else [*answers]
    if not isinstance(ids, list) or not ids or not all(isinstance(one, str) for one in ids):
        _wrong(path, f"{where}: `ids` is no list of case ids")
    texts = {name: value for name, value in entry.items() if name not in ("ids", "expected", "backends")}
    for name in _TEXTS:
        if not isinstance(texts.get(name), str) or not texts[name]:
            _wrong(path, f"{where}: `{name}` is missing")
    try:
        spelled = {} if answers is None else {one: decoded(answer, f"{path}: {one}") for one, answer in answers.items()}
        return [(one, Deviation(**texts, expected=spelled.get(one))) for one in ids]
    except InvalidArgument as error:
        _wrong(path, f"{where}: {error}")


def _wrong(path: Path, what: str) -> NoReturn:
    raise InvalidArgument(f"{path}: {what}. See the list's own head for how an entry is written.")
