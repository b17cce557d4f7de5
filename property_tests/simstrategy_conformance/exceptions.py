"""What a backend does not do, as its author lists it: `conformance.toml` beside its code.

    [[exception]]
    clause = "B-9"
    test = "test_subnormals_are_added_and_not_flushed"
    kind = "never"
    reason = "The processor flushes subnormals, and the framework does not let us change that."
    link = "https://example.org/issue/1"

`test` may name one case, as in "test_an_array_function_is_numpys[exp]". profiles = ["default", "deep"] limits the
exception to these, for a fault that few draws show.

Strict both ways: a failure without an exception fails the run, and so does an exception whose tests pass.
"""

import tomllib
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

from simstrategy.errors import InvalidArgument
from simstrategy_conformance.c10d.names import is_c10d, named
from simstrategy_conformance.profiles import PROFILES

__all__ = ["FILE", "KINDS", "Excepted", "exceptions_of", "file_of", "left_out", "read_exceptions"]

FILE: Final = "conformance.toml"
KINDS: Final = ("missing", "upstream", "never")
"""Not yet done; a fault of the framework; impossible here."""
_FIELDS: Final = ("clause", "kind", "reason", "link")


class Excepted(NamedTuple):
    """One exception.

    test: the name of its one test, with a case in brackets or without; empty for all tests of the clause. profiles: the
    names of those in which it holds; () for all.
    """

    clause: str
    kind: str
    reason: str
    link: str
    test: str
    profiles: tuple[str, ...] = ()

    def covers(self, clauses: tuple[str, ...], test: str) -> bool:
        """Returns whether a test is excepted.  test: its name, with its case where it has one."""
        return self.clause in clauses and self.test in ("", test, test.partition("[")[0])

    def __str__(self) -> str:
        return f"{self.clause}{' ' + self.test if self.test else ''} ({self.kind}): {self.reason} {self.link}"


def file_of(backend: str) -> Path | None:
    """Returns where a backend's exceptions are written: beside its package; None where there is no such file."""
    if is_c10d(backend) and not named(backend).module:
        return Path(__file__).parent / "c10d" / FILE  # of what PyTorch has
    location = named(backend).module if is_c10d(backend) else backend
    if ":" not in location and not is_c10d(backend):
        points = tuple(entry_points(group="simstrategy.backends", name=backend))
        if not points:
            return None
        location = points[0].value
    module = location.partition(":")[0]
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return None
    file = Path(spec.origin).parent / FILE
    return file if file.exists() else None


def exceptions_of(
    backend: str, known: dict[str, tuple[str, ...]], file: Path | None = None, *, profile: str = ""
) -> tuple[Excepted, ...]:
    """Returns a backend's exceptions.  known: the kit's clauses, and the tests of each."""
    found = file or file_of(backend)
    return () if found is None else read_exceptions(found, backend, known, profile=profile)


def left_out(backend: str, known: dict[str, tuple[str, ...]], file: Path | None = None, *, profile: str = "") -> str:
    """Returns what exceptions a backend's file has that `exceptions_of` does not return, and why; "" for none."""
    found = file or file_of(backend)
    others = [one for one in _entries(found, known) if not _holds(*one[1:], backend, profile)] if found else []
    if not others:
        return ""
    listed = [
        f"{excepted.clause} for "
        + (f"profile {', '.join(excepted.profiles)}" if meant in ("", backend) else f"{meant} alone")
        for _, meant, excepted in others
    ]
    return f"{found}: {'; '.join(listed)}. This is {backend}{f', profile {profile}' if profile else ''}."


def read_exceptions(
    file: Path, backend: str, known: dict[str, tuple[str, ...]], *, profile: str = ""
) -> tuple[Excepted, ...]:
    """Reads the exceptions that a file has for a backend.  profile: those that hold in it; "" for those of all.

    Raises InvalidArgument for one without a reason.
    """
    return tuple(one[2] for one in _entries(file, known) if _holds(*one[1:], backend, profile))


def _holds(meant: str, excepted: Excepted, backend: str, profile: str) -> bool:
    """Returns whether an exception is one of a backend in a profile.  meant: the backend that it names, or ""."""
    return meant in ("", backend) and (not profile or not excepted.profiles or profile in excepted.profiles)


def _entries(file: Path, known: dict[str, tuple[str, ...]]) -> list[tuple[str, str, Excepted]]:
    """Returns the exceptions of a file, each with where it is written and with the backend that it names, or ""."""
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidArgument(
            f"{file} cannot be read: {error}. It has to be a TOML file of [[exception]] tables."
        ) from error
    unknown = sorted(set(tables) - {"exception"})
    if unknown or not isinstance(tables.get("exception", []), list):
        raise InvalidArgument(f"{file} may have [[exception]] tables alone, and has {', '.join(unknown) or 'another'}.")
    entries = (
        [_entry(table, f"{file}, exception {number}") for number, table in enumerate(tables["exception"], 1)]
        if tables
        else []
    )
    for where, _, excepted in entries:
        if excepted.clause not in known:
            raise InvalidArgument(
                f"{where}: the kit examines no clause {excepted.clause!r}; there are {', '.join(known)}."
            )
        if excepted.test and excepted.test.partition("[")[0] not in known[excepted.clause]:
            raise InvalidArgument(
                f"{where}: clause {excepted.clause} has no test {excepted.test!r}; it has "
                f"{', '.join(known[excepted.clause])}."
            )
    return entries


def _entry(table: Any, where: str) -> tuple[str, str, Excepted]:
    if not isinstance(table, dict):
        raise InvalidArgument(f"{where} is no table: write [[exception]].")
    missing = [name for name in _FIELDS if not isinstance(table.get(name), str) or (name != "link" and not table[name])]
    unknown = sorted(set(table) - {*_FIELDS, "test", "backend", "profiles"})
    if missing or unknown:
        raise InvalidArgument(
            f"{where}: it needs {', '.join(_FIELDS)}, and may have test, backend and profiles; "
            f"missing: {', '.join(missing) or 'none'}; unknown: {', '.join(unknown) or 'none'}."
        )
    if table["kind"] not in KINDS:
        raise InvalidArgument(f"{where}: kind is one of {', '.join(KINDS)}, not {table['kind']!r}.")
    profiles = table.get("profiles", [])
    if not isinstance(profiles, list) or not all(one in PROFILES for one in profiles):
        raise InvalidArgument(f"{where}: profiles is a list of {', '.join(PROFILES)}, not {profiles!r}.")
    texts = {name: str(table.get(name, "")) for name in (*_FIELDS, "test")}
    return where, str(table.get("backend", "")), Excepted(**texts, profiles=tuple(profiles))
