"""The trace of a run: the requests of each replica, in their order, with their call sites.

A trace is canonical JSON lines, so two traces are equal if their bytes are equal. An event holds worker, replica,
kind, op, axis, subject, shapes, dtypes and call site; no values, devices, absolute paths, addresses or times.
"""

from simstrategy.trace.difference import TraceDifference, first_difference
from simstrategy.trace.events import (
    CallPath,
    Event,
    Request,
    Site,
    Subject,
    Trace,
    describe_request,
    describe_site,
    warn_at,
    write_events,
)
from simstrategy.trace.files import read
from simstrategy.trace.recorder import AnyTrace, Recorder
from simstrategy.trace.recording import Printed, Recording, Result, StepParts, SyncPoint, VariableWrite
from simstrategy.trace.values import Unreadable, Value, value_digest

__all__ = [
    "AnyTrace",
    "CallPath",
    "Event",
    "Printed",
    "Recorder",
    "Recording",
    "Request",
    "Result",
    "Site",
    "StepParts",
    "Subject",
    "SyncPoint",
    "Trace",
    "TraceDifference",
    "Unreadable",
    "Value",
    "VariableWrite",
    "describe_request",
    "describe_site",
    "first_difference",
    "read",
    "value_digest",
    "warn_at",
    "write_events",
]
