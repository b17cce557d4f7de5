"""Reads a report from a file: what is no report of this kit ends with an error that states why."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from simstrategy.errors import InvalidArgument
from simstrategy.short_repr import short_repr
from simstrategy_conformance.matrix.schema import unlike
from simstrategy_conformance.reports import FORMAT, VERSION

__all__ = ["read_report"]

_SCHEMA: Final = "report.schema.json"
_MAKE: Final = "Write one with `simstrategy conform BACKEND --json FILE`."


def read_report(file: Path) -> dict[str, Any]:
    """Returns the document of a report, as report.schema.json describes it.

    Raises InvalidArgument for a file that cannot be read, is no JSON, is of another format or version, or is not as
    the schema describes it.
    """
    try:
        found = json.loads(file.read_bytes())
    except OSError as error:
        raise InvalidArgument(f"{file} cannot be read: {error.strerror or error}. {_MAKE}") from error
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(f"{file} is no JSON: {error}. {_MAKE}") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise InvalidArgument(f"{file} is no report of the conformance kit: its format is not {FORMAT!r}. {_MAKE}")
    version = found.get("version")
    if version != VERSION or isinstance(version, bool):
        newer = isinstance(version, int) and version > VERSION
        advice = "Install the kit that wrote it, or a newer one." if newer else _MAKE
        raise InvalidArgument(
            f"{file} is a report of version {short_repr(version)}, and this kit reads version {VERSION}. {advice}"
        )
    schema = json.loads((files("simstrategy_conformance") / _SCHEMA).read_text(encoding="utf-8"))
    problem = unlike(found, schema)
    if problem is not None:
        raise InvalidArgument(f"{file} is not as {_SCHEMA} describes a report: {problem}. {_MAKE}")
    return found
