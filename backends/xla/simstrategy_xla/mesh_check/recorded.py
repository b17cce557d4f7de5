"""Makes a recording of a run with recorded values, for the page of a check: its collectives, and what lines compute."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from simstrategy.check.outcome import program_folder, source_of
from simstrategy.run import stated_site
from simstrategy.trace import Recorder, Recording, Request, Site
from simstrategy.trace.recording import HOLDS
from simstrategy_xla.mesh_check.calls import Call, calls_of
from simstrategy_xla.mesh_check.jobs import Found
from simstrategy_xla.mesh_check.jobs import Site as Place

__all__ = ["places_of", "recorded_run"]


def recorded_run(found: Found, program: Callable[..., Any], replicas: int) -> Recording:
    """Returns the recording of a run of `program(mesh)` on a number of devices.  found: with its recorded values."""
    return _written(found, program, replicas)[0]


def places_of(found: Found, program: Callable[..., Any], replicas: int) -> list[int]:
    """Returns for each call of a run, in the order of `calls_of`, the place of its first event in the recording."""
    return _written(found, program, replicas)[1]


def _written(found: Found, program: Callable[..., Any], replicas: int) -> tuple[Recording, list[int]]:
    recorder = Recorder(root=program_folder(program))
    recorder.describe(replicas=replicas, workers=1, arrivals="not recorded", source=source_of(program))
    places = []
    for call in [] if found.record is None else calls_of(found.record):
        recorder.begin_step(0, call.step)
        places.append(recorder.position(0)[1])
        if call.site.own or call.site.kind in ("enter", "leave"):
            _write_names(recorder, call)
        else:
            _write_collective(recorder, call)
    if found.printed:
        recorder.printed(0, None, found.printed)
    site = stated_site(found.notes, Path(program_folder(program)))
    recorder.ended(0, found.contents.leaves, found.error, site=site)
    recorder.close()
    return recorder.recording(), places


def _write_names(recorder: Recorder, call: Call) -> None:
    """Writes what each device has of the values of a line, or of a shard_map."""
    for place, value in enumerate(call.values):
        unnamed = call.site.kind if call.site.own else f"result [{place}]"
        name = call.site.names[place] if place < len(call.site.names) else unnamed
        if value is not None:
            recorder.wrote(0, None, name, HOLDS, (), value, _site(call))


def _write_collective(recorder: Recorder, call: Call) -> None:
    site = call.site
    devices = range(site.devices)
    inputs = [tuple([value[device] for value in call.values[: site.inputs] if value is not None]) for device in devices]
    outputs = [
        tuple([_output(value[device], site) for value in call.values[site.inputs :] if value is not None])
        for device in devices
    ]
    depth = recorder.depth(0)
    recorder.begin(
        0, Request(site.kind, site.op, None, None, None, ()), [*devices], [_site(call)] * len(devices), inputs
    )
    recorder.leave(0, depth, outputs)


def _output(value: np.ndarray[Any, Any], site: Place) -> np.ndarray[Any, Any]:
    """Returns what a device gets; of a mean, JAX records the sum, which it divides afterwards."""
    return np.asarray(value / site.devices, value.dtype) if site.op == "MEAN" else value


def _site(call: Call) -> Site:
    """Returns file and line; the file is without its folder, as the process has given it."""
    file, _, line = call.site.place.rpartition(":")
    return (file, int(line)) if line.isdigit() else ("", 0)
