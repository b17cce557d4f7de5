"""CUDA's streams and events on the CPU: all work is done in the order of the lines, whatever its stream.

That is one of the orders that a GPU may take. A wait between streams that a script lacks is not found here, which is
said once for each process.
"""

import sys
import time
from typing import Any, Self, final

from simstrategy_torch_distributed.gpus.places import place

__all__ = ["Event", "Stream", "StreamContext", "current_stream", "set_stream"]


@final
class Event:
    """A place in a stream.  Its time is the clock's when it was recorded."""

    def __init__(self, *_: Any, **__: Any) -> None:
        _say_once("Event")
        self.recorded_s: float | None = None

    def record(self, _stream: Any = None) -> None:
        self.recorded_s = time.perf_counter()

    def elapsed_time(self, later: "Event") -> float:
        """Returns the milliseconds from this event to a later one.  Raises ValueError where one was not recorded."""
        if self.recorded_s is None or later.recorded_s is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return 1000.0 * (later.recorded_s - self.recorded_s)

    def query(self) -> bool:
        return True

    def wait(self, _stream: Any = None) -> None:
        """Waits for what came before it, which is done."""

    def synchronize(self) -> None:
        """Waits for what came before it, which is done."""


@final
class Stream:
    """An order of work, and the same one for all streams."""

    cuda_stream = 0

    def __init__(self, *_: Any, **__: Any) -> None:
        _say_once("Stream")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Ends a block whose work is done."""

    def query(self) -> bool:
        return True

    def record_event(self, event: Event | None = None) -> Event:
        """Returns the event, or a new one, which is recorded."""
        event = Event() if event is None else event
        event.record()
        return event

    def synchronize(self) -> None:
        """Waits for work that is done."""

    def wait_event(self, _event: Event) -> None:
        """Waits for work that is done."""

    def wait_stream(self, _stream: "Stream") -> None:
        """Waits for work that is done."""


@final
class StreamContext:
    """A block whose work goes to a stream."""

    def __init__(self, _stream: Stream | None) -> None: ...

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


def current_stream(_device: Any = None) -> Stream:
    """Returns the stream of the lines."""
    return Stream()


def set_stream(_stream: Stream) -> None:
    """Takes another stream, which is the same one."""


_said: list[str] = []
"""What was said in this process, once for streams and events together."""


def _say_once(name: str) -> None:
    """Says what streams do not show.  It is called by a class's or a function's own body, which the script calls."""
    if _said:
        return
    _said.append(name)
    sys.stderr.write(
        f"simstrategy: torch.cuda.{name} at {place(3)}: on the CPU all work is done in the order of the lines, in "
        f"whatever stream. A missing wait between streams is not found.\n"
    )
