"""The page: one HTML file that loads nothing, from the recordings' data and the files in `web/`.

What comes from programs is in the file twice only: the title, escaped, and the data, as base64 of gzip of JSON. The
page's policy allows the one script and the one style that are in it, by their digests, and nothing else.
"""

import gzip
import hashlib
import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, NamedTuple

from simstrategy.player.data import run_data
from simstrategy.player.modules import joined
from simstrategy.player.sources import sources_beside
from simstrategy.sim import Cost
from simstrategy.trace import Recording

__all__ = ["PlayedRun", "as_player", "own_run", "read_run"]

_WEB: Final = files("simstrategy.player") / "web"


class PlayedRun(NamedTuple):
    """One run of a page.

    name: how the page calls it. sources: texts of the program's files, by their names. notes: a paragraph for each of
    some stops, by their numbers: the cause of a finding. causes: for some stops the line at which their cause is, as in
    ``train.py:31``.
    """

    name: str
    recording: Recording
    sources: Mapping[str, str]
    notes: Mapping[int, str] = {}
    causes: Mapping[int, str] = {}


def own_run(recording: Recording, folder: Path, *, name: str = "run") -> PlayedRun:
    """Returns a run that was recorded just now.  folder: of its program."""
    return PlayedRun(name, recording, sources_beside(recording, folder, is_own=True))


def read_run(recording: Recording, folder: Path, *, name: str = "run") -> PlayedRun:
    """Returns a run of a file.  folder: that may have its program: only the one that was recorded is shown."""
    return PlayedRun(name, recording, sources_beside(recording, folder, is_own=False))


def as_player(
    title: str,
    runs: Sequence[PlayedRun],
    *,
    start: tuple[int, int] = (0, 0),
    cost: Cost | None = None,
    above: str = "",
    style: str = "",
) -> str:
    """Returns the HTML of a page that plays recordings, the same for the same ones; others are compared with the first.

    start: the run and the stop that are shown first. cost: of the runs' virtual time, None for a page without it.
    above: HTML before the player, whose links such as ``#run=2&at=31`` lead to an event, and with
    ``&line=train.py:31`` to a line of the source as well; style: its CSS. Both are put into the page as they are.

    >>> import simstrategy as ss
    >>> recorder = ss.trace.Recorder()
    >>> _ = ss.Strategy.mirrored("sim", replicas=2, trace=recorder).run(lambda: None)
    >>> as_player("two replicas", [PlayedRun("2 replicas", recorder.recording(), {})]).startswith("<!DOCTYPE html>")
    True
    """
    first = runs[0].recording if runs else None
    data = {
        "runs": [_run_data(run, first if number else None, cost) for number, run in enumerate(runs)],
        "start": {"run": start[0], "at": start[1]},
    }
    return _page(title, data, above, style)


def _run_data(run: PlayedRun, reference: Recording | None, cost: Cost | None) -> dict[str, Any]:
    """Returns a run with its causes: of findings, or else the event whose error ended the program."""
    data = run_data(run.recording, name=run.name, sources=run.sources, reference=reference, cost=cost)
    causes = {str(at): [line] for at, line in sorted(run.causes.items())}
    raised = None if run.notes or run.causes else data["raised"]
    if raised is not None:
        causes[str(raised["at"])] = raised["lines"]
    data["marks"]["cause"] = sorted(run.notes) if raised is None else [raised["at"]]
    data["raised"] = None if raised is None else raised["what"]
    return data | {"notes": {str(at): text for at, text in sorted(run.notes.items())}, "causes": causes}


def _page(title: str, data: Mapping[str, Any], above: str, above_style: str) -> str:
    style, script, page = _static()
    style += above_style
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        f"base-uri 'none'; form-action 'none'"
    )
    packed = gzip.compress(json.dumps(data, separators=(",", ":")).encode(), mtime=0)
    places = {
        "policy": policy,
        "title": escape(title),
        "style": style,
        "above": above,
        "script": script,
        "recording": b64encode(packed).decode(),
    }
    texts = page.split("{{")
    return texts[0] + "".join(places[name] + rest for name, rest in (text.split("}}", 1) for text in texts[1:]))


@cache
def _static() -> tuple[str, str, str]:
    """Returns the style, the script and the frame of every page."""
    modules = {one.name: one.read_text("utf-8") for one in _WEB.iterdir() if one.name.endswith(".js")}
    style = (_WEB / "style.css").read_text("utf-8")
    return style, joined(modules, "main.js"), (_WEB / "page.html").read_text("utf-8")


def _digest(text: str) -> str:
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
