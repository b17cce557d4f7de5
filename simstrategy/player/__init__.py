"""A recording as one page in which to step through a run: no network, no server, the same bytes for the same recording.

Python decides what is shown at each stop, and writes every value as text; the modules in `web/` only show it.
"""

from simstrategy.player.components import made_at, variables_of
from simstrategy.player.page import PlayedRun, as_player, own_run, read_run
from simstrategy.player.places import opening_stop
from simstrategy.player.trace_events import TimedRun, as_trace_events

__all__ = [
    "PlayedRun",
    "TimedRun",
    "as_player",
    "as_trace_events",
    "made_at",
    "opening_stop",
    "own_run",
    "read_run",
    "variables_of",
]
