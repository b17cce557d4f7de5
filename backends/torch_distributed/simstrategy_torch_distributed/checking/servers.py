"""The forkservers of a check: they have imported torch, and after the first run also the libraries of the script."""

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, final

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

    @property
    def listing(self) -> str | None:
        """The file in which the next run lists libraries; None where it does not."""
        return None if self._listing is None else str(self._listing)

    @property
    def all(self) -> Sequence[Server]:
        """Those for the next run."""
        return self._all

    def learn(self) -> None:
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
        self._all = learned

    def close(self) -> None:
        """Ends all forkservers."""
        _end(self._all)
        self._folder.cleanup()


def _end(servers: Sequence[Server]) -> None:
    for server in servers:
        server.close()
