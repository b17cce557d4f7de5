"""The forkservers of a check: they have imported torch, and after the first run also the libraries of the script."""

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, final

from simstrategy.check.scripts.facts import ScriptRun, ScriptSettings, bits_equal
from simstrategy.errors import BackendUnavailable
from simstrategy.launch.server import Server
from simstrategy_torch_distributed.running import started_apart

__all__ = ["IMPORTED_MIN", "Servers"]

IMPORTED_MIN: Final = 100
"""Fewer modules take less time in each rank than a new forkserver does."""
_IMPORT: Final = "simstrategy_torch_distributed.libraries:import_listed:"


@final
class Servers:
    """Starts forkservers for even ranks and for odd ones; call `close` at the end.

    modules: what they import. learns: whether they may import libraries of the script, which ranks import else.
    """

    def __init__(self, modules: Sequence[str], *, learns: bool) -> None:
        self._modules = modules
        self._folder = TemporaryDirectory(prefix="simstrategy-")
        self._listing = Path(self._folder.name) / "libraries" if learns else None
        self._all: Sequence[Server] = started_apart(modules)
        self._first: tuple[ScriptSettings, ScriptRun] | None = None
        self._has_unproved = False
        """Whether libraries are imported, and no run has shown that this changes nothing."""

    @property
    def listing(self) -> str | None:
        """The file in which the next run lists libraries; None where it does not."""
        return None if self._listing is None else str(self._listing)

    @property
    def all(self) -> Sequence[Server]:
        """Those for the next run."""
        return self._all

    def take(self, settings: ScriptSettings, run: ScriptRun) -> bool:
        """Takes a run of the script; returns whether libraries that were imported before it have changed nothing.

        After the first run libraries are imported. The next one of equal settings has to have the same values; else
        ranks import libraries themselves from then on, also in that run, which is to be made again.
        """
        plain = settings._replace(laws=(), folder=None)
        if self._first is None:
            self._first = plain, run
            if run.error is None:
                self._learn()
            return True
        if not self._has_unproved or plain != self._first[0]:
            return True
        self._has_unproved = False
        if _have_same_values(run, self._first[1]):
            return True
        _end(self._all)
        self._all = started_apart(self._modules)
        return False

    def _learn(self) -> None:
        """Starts forkservers that have imported what the first run has listed, unless these are few modules."""
        listing, self._listing = self._listing, None
        if listing is None or not listing.exists():
            return
        if len(json.loads(listing.read_text(encoding="utf-8"))["modules"]) < IMPORTED_MIN:
            return
        learned = started_apart([*self._modules, f"{_IMPORT}{listing}"])
        try:
            for server in learned:
                assert server.folder  # it has imported them
        except BackendUnavailable:
            _end(learned)
            return
        _end(self._all)
        self._all, self._has_unproved = learned, True

    def close(self) -> None:
        """Ends all forkservers."""
        _end(self._all)
        self._folder.cleanup()


def _end(servers: Sequence[Server]) -> None:
    for server in servers:
        server.close()


def _have_same_values(one: ScriptRun, other: ScriptRun) -> bool:
    """Returns whether two runs end alike, with the same bits in each value."""
    if (one.error is None) != (other.error is None) or len(one.values) != len(other.values):
        return False
    return all(
        here.path == there.path
        and len(here.copies) == len(there.copies)
        and all(map(bits_equal, zip(here.copies, there.copies, strict=True)))
        for here, there in zip(one.values, other.values, strict=True)
    )
