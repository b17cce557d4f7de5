"""What a program prints, shown as always and also recorded, with the replica that printed it."""

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from typing import Final, TextIO, final

from simstrategy.strategy import current_group, get_replica_context, has_strategy
from simstrategy.trace import Recorder

__all__ = ["WORKER", "recorded_prints"]

WORKER: Final[ContextVar[int]] = ContextVar("WORKER", default=0)
"""The worker whose program runs, where no strategy is current."""


@final
class _Recorded(io.TextIOBase):
    """A standard output whose texts are recorded, line by line."""

    def __init__(self, shown: TextIO, recorder: Recorder) -> None:
        self._shown = shown
        self._recorder = recorder
        self._who: tuple[int, int | None] | None = None
        self._text: list[str] = []

    @property
    def encoding(self) -> str:  # type: ignore[override]  # as the output that is shown
        return self._shown.encoding

    def isatty(self) -> bool:
        return self._shown.isatty()

    def fileno(self) -> int:
        return self._shown.fileno()

    def write(self, text: str) -> int:
        who = _speaker()
        if who != self._who:
            self.end_text()
            self._who = who
        self._text.append(text)
        if text.endswith("\n"):
            self.end_text()
        return self._shown.write(text)

    def flush(self) -> None:
        self._shown.flush()

    def end_text(self) -> None:
        """Records what was printed since the last record."""
        if self._text and self._who is not None:
            self._recorder.printed(*self._who, "".join(self._text))
        self._text.clear()


def _speaker() -> tuple[int, int | None]:
    """Returns the worker that runs, and the rank of its replica; None outside replica functions."""
    if not has_strategy():
        return WORKER.get(), None
    replica = get_replica_context()
    rank = None if replica is None else replica.replica_id_in_sync_group
    # While a step is compiled, its rank is an array without a value.
    return current_group().coordinator.worker, rank if isinstance(rank, int) else None


@contextmanager
def recorded_prints(recorder: Recorder | None) -> Iterator[None]:
    """Records what is printed inside; None records nothing.  One for all workers of a simulated cluster."""
    if recorder is None:
        yield
        return
    output = _Recorded(sys.stdout, recorder)
    with redirect_stdout(output):
        try:
            yield
        finally:
            output.end_text()
