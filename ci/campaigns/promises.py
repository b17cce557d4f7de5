"""The programs that once broke a promise, each with the letter under which it was found.  Runs nothing.

`misuses/promises.toml` has a program for each, or names the test that is in its place.
"""

import tomllib
from typing import NamedTuple

from misuse import FOLDER, HEAD
from misuse_workers import SIDES

__all__ = ["Promise", "elsewhere", "promises"]


class Promise(NamedTuple):
    """A program that broke a promise.  expects, error: what has to become of it, as for a fragment.

    sides: on which it runs. shares, process: as for a fragment. broken: why it is still wrong; empty where it is right
    now. chance: whether it is wrong in some runs alone.
    """

    letter: str
    name: str
    clause: str
    expects: str
    error: str
    sides: tuple[str, ...]
    shares: bool
    process: bool
    broken: str
    chance: bool
    text: str


def promises() -> list[Promise]:
    """Reads the programs."""
    found = []
    for one in _tables().get("promise", []):
        given = {"error": "", "sides": SIDES, "shares": False, "process": False, "broken": "", "chance": False, **one}
        given["text"] = f'"""{given["letter"]}: {given["name"]}."""\n\n{HEAD}{one["text"]}'
        found.append(Promise(**{**given, "sides": tuple(given["sides"])}))
    return found


def elsewhere() -> dict[str, str]:
    """Returns the letters of what is no program for a strategy, and the test that is in its place."""
    return {one["letter"]: one["test"] for one in _tables().get("elsewhere", [])}


def _tables() -> dict[str, list[dict[str, object]]]:
    return tomllib.loads((FOLDER / "promises.toml").read_text(encoding="utf-8"))
