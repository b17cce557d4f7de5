"""The virtual time of runs in the Trace Event Format of JSON, which Perfetto and Chrome's about:tracing open.

A worker is a process there and a replica a thread; what a replica does is a complete event (`X`) with its begin and
length in microseconds. Those of one thread follow one another and never overlap, as the format demands. Source of the
format: "Trace Event Format", the Chromium project.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from simstrategy.player.captions import label
from simstrategy.player.stops import columns_of
from simstrategy.sim import Span, Timeline
from simstrategy.sim.virtual_time import NETWORK
from simstrategy.trace import Recording, SyncPoint

__all__ = ["TimedRun", "as_trace_events"]

_NANOSECONDS: Final = 1_000_000_000


class TimedRun(NamedTuple):
    """One run with its times.  name: what its processes are called."""

    name: str
    recording: Recording
    times: Timeline


def as_trace_events(runs: Sequence[TimedRun]) -> str:
    """Returns a JSON object with the events of all runs; each worker of each run is a process of its own.

    >>> import simstrategy as ss
    >>> recorder = ss.trace.Recorder()
    >>> _ = ss.Strategy.mirrored("sim", replicas=2, trace=recorder).run(lambda: None)
    >>> recording = recorder.recording()
    >>> timed = TimedRun("run", recording, ss.sim.timeline(recording, ss.sim.Cost(compute_s=0.002)))
    >>> [one["dur"] for one in json.loads(as_trace_events([timed]))["traceEvents"] if one["ph"] == "X"]
    [2000.0, 2000.0]
    """
    events: list[dict[str, Any]] = []
    first = 0
    for run in runs:
        columns = columns_of(run.recording)
        events += _events(run, columns, first)
        first += len(columns)
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ns"}, separators=(",", ":")) + "\n"


def _events(run: TimedRun, columns: Sequence[Sequence[int]], first: int) -> Iterator[dict[str, Any]]:
    processes = {rank: first + worker for worker, ranks in enumerate(columns) for rank in ranks}
    processes[NETWORK] = first
    for worker in range(len(columns)):
        name = run.name if len(columns) == 1 else f"{run.name}, worker {worker}"
        yield _named("process_name", first + worker, 0, {"name": name})
    # After all replicas: a thread has a number of at least 0.
    threads = {rank: len(processes) if rank == NETWORK else rank for rank in processes}
    for rank in sorted({span.rank for span in run.times.spans} & processes.keys()):
        place = threads[rank]
        name = "network" if rank == NETWORK else f"replica {rank}"
        yield _named("thread_name", processes[rank], place, {"name": name})
        yield _named("thread_sort_index", processes[rank], place, {"sort_index": place})
    points = {point.number: point for point in run.recording.points}
    for span in run.times.spans:
        if span.rank in processes:
            yield _complete(span, points[span.point], processes[span.rank], threads[span.rank])


def _named(what: str, process: int, thread: int, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": arguments}


def _complete(span: Span, point: SyncPoint, process: int, thread: int) -> dict[str, Any]:
    # Whole nanoseconds, so the end of one is the begin of the next.
    begin, end = round(span.begin_s * _NANOSECONDS), round(span.end_s * _NANOSECONDS)
    text = label(point)
    name = {"compute": "compute", "wait": f"wait for {text}", "communicate": text}[span.does]
    sites = sorted(set(point.sites))
    return {
        "ph": "X",
        "name": name,
        "cat": span.does,
        "ts": begin / 1000,
        "dur": (end - begin) / 1000,
        "pid": process,
        "tid": thread,
        "args": {"point": point.number, "step": point.step, "line": ", ".join(sites[:4])},
    }
