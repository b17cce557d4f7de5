"""One worker: runs the jobs of its launcher, one after the other, until the launcher closes the channel.

A job is a function at the top level of a file or module. Its arguments and its result are JSON values.
"""

import contextlib
import importlib
import importlib.util
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from simstrategy.launch.channel import Channel, Closed
from simstrategy.launch.jobs import print_to

__all__ = ["work"]


def work(jobs: Channel, output: Path) -> int:
    """Runs jobs until the channel closes, or one raises SystemExit; returns the exit code.

    output: the file for everything that is printed, by Python or by libraries.
    """
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    print_to(output)
    np.random.seed()  # forked workers would otherwise have equal random states
    code = 0
    with contextlib.suppress(Closed):
        while True:
            job, _ = jobs.receive()
            jobs.send("taken")
            try:
                answer = _answer(job)
            except SystemExit as ending:
                code = _exit_code(ending)
                break
            jobs.send(answer)
    _flush()
    return code


def _answer(job: Any) -> dict[str, Any]:
    with _environment(job["environment"]):
        try:
            value = _function(job["place"], job["name"])(*job["arguments"])
            json.dumps(value)
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the launcher receives it
            text = "".join(traceback.format_exception(error))
            return {"error": [type(error).__name__, str(error), text]}
        finally:
            _flush()
    return {"value": value}


def _function(place: str, name: str) -> Callable[..., Any]:
    """Returns a function of a module, or of a file.

    A file is executed again for each job; the other files of its folder can import it.
    """
    if not place.endswith(".py"):
        found = vars(importlib.import_module(place))
    else:
        path = Path(place)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        if str(path.parent) not in sys.path:
            sys.path.insert(0, str(path.parent))
        spec.loader.exec_module(module)
        found = vars(module)
    function: Callable[..., Any] = found[name]
    return function


@contextlib.contextmanager
def _environment(settings: dict[str, str | None]) -> Iterator[None]:
    """Sets environment variables, and removes those that are None; restores all of them at the end."""
    before = dict(os.environ)
    for name, text in settings.items():
        if text is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = text
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _exit_code(ending: SystemExit) -> int:
    """Returns the exit code that Python would use, and prints the text that Python would print."""
    if ending.code is None or isinstance(ending.code, int):
        return ending.code or 0
    sys.stderr.write(f"{ending.code}\n")
    return 1


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
