"""The trace of a run: what each replica asked for, in which order, from which line.

Canonical JSON lines, so that two traces are equal when their bytes are. An event holds worker,
replica, kind, op, axis, subject, shapes, dtypes and call site; no values, devices, absolute paths,
addresses or times.
"""

from simstrategy.trace.difference import TraceDifference, first_difference
from simstrategy.trace.events import Event, Request, Site, Trace, describe_request, describe_site, write_events

__all__ = [
    "Event",
    "Request",
    "Site",
    "Trace",
    "TraceDifference",
    "describe_request",
    "describe_site",
    "first_difference",
    "write_events",
]
