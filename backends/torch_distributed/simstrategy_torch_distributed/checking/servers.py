"""The forkservers of a check: they have imported torch, and after the first run also the libraries of the script."""

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, final

from simstrategy.errors import BackendUnavailable
from simstrategy.launch.server import Server
from simstrategy_torch_distributed.libraries import IMPORTED_MIN
from simstrategy_torch_distributed.running import started_apart

__all__ = ["Servers"]

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
        self._bare = started_apart(modules)
        self._whole: tuple[Server, ...] = ()
        """Those that have imported the libraries too."""

    @property
    def listing(self) -> str | None:
        """The file in which the next run lists libraries; None where it does not."""
        return None if self._listing is None else str(self._listing)

    def of(self, *, is_reseeded: bool) -> Sequence[Server]:
        """Returns the forkservers for a run.

        is_reseeded: whether classes of generators are replaced in its ranks, which libraries are to import afterwards.
        """
        return self._bare if is_reseeded or not self._whole else self._whole

    def learn(self) -> None:
        """Starts forkservers that have imported what the first run has listed, unless these are few modules."""
        listing, self._listing = self._listing, None
        if listing is None or not listing.exists():
            return
        if len(json.loads(listing.read_text(encoding="utf-8"))["modules"]) < IMPORTED_MIN:
            return
        self._whole = started_apart([*self._modules, f"{_IMPORT}{listing}"])
        try:
            for server in self._whole:
                assert server.folder  # it has imported them
        except BackendUnavailable:
            self._end_whole()

    def close(self) -> None:
        """Ends all forkservers."""
        self._end_whole()
        for server in self._bare:
            server.close()
        self._folder.cleanup()

    def _end_whole(self) -> None:
        for server in self._whole:
            server.close()
        self._whole = ()
