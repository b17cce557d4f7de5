"""Opens the place that a word names: here, or a Ray cluster."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from simstrategy.errors import InvalidArgument
from simstrategy_conformance.spread.here import Here
from simstrategy_conformance.spread.on_ray import OnRay
from simstrategy_conformance.spread.tasks import Spread

__all__ = ["require_place", "spread_over"]

_RAY: Final = "ray"


def require_place(place: str) -> None:
    """Raises InvalidArgument for a word that names no place."""
    if place not in ("here", _RAY) and not (place.startswith(f"{_RAY}://") and place.removeprefix(f"{_RAY}://")):
        raise InvalidArgument(
            f"Tasks run on here, {_RAY} or {_RAY}://HOST:PORT, got {place!r}. With {_RAY} alone it is the cluster that "
            f"the variable RAY_ADDRESS names, or else one on this machine."
        )


@contextmanager
def spread_over(
    place: str, *, jobs: int = 2, folder: Path | None = None, without: Sequence[str] = ()
) -> Iterator[Spread]:
    """Opens a place for tasks and closes it at the end.

    place: "here", "ray" or "ray://HOST:PORT". jobs: processes here, and of a cluster that begins here. folder: with
    modules of the tasks that are not installed on the nodes, which get a copy; without: patterns of files that are left
    out of it. Raises InvalidArgument for another place, BackendUnavailable without Ray, and PeerFailed where the
    cluster does not answer.
    """
    require_place(place)
    spread: Spread = Here(jobs) if place == "here" else OnRay(place, jobs, folder, without)
    try:
        yield spread
    finally:
        spread.close()
