"""Runs a program of a mesh once in this process, and takes apart what it gave; chooses the devices before."""

import contextlib
import functools
import io
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import jax
import numpy as np
from jax.sharding import Mesh

from simstrategy.check.checkpoint import Checkpoint, takes_checkpoint
from simstrategy.check.executed import Kept, script_of, with_forms
from simstrategy.check.folder import same_folder
from simstrategy.run import raised_where
from simstrategy.short_repr import error_text
from simstrategy_xla.mesh_check.error_texts import shown_text
from simstrategy_xla.mesh_check.jobs import Found, Job, Run, Saved
from simstrategy_xla.mesh_check.results import Result, result_of
from simstrategy_xla.mesh_check.trained import form_of, sizes_in, trained_in

__all__ = [
    "COMPILED_BYTES_MAX",
    "DIVIDED",
    "FIXED",
    "REFUSED",
    "choose_devices",
    "keep_compiled",
    "load_problem",
    "run_once",
]

_CONFIG: Final[Any] = jax.config
_OF_AXES: Final = ("unbound axis name", "is not found in mesh", "must refer to an axis")
_INDIVISIBLE: Final = re.compile(
    r"not evenly divisible by the corresponding mesh axis|should be\s+divisible by \d|tiling factors: \[|"
    r"cannot reshape array of .* into shape \((?P<first>\d+),|array split does not result in an equal division|"
    r"\b[Dd]ivisible\b|can't divide axis of length|\b(?:be|is not) a multiple of"
)
_COUNTED: Final = re.compile(
    r"Number of devices (?P<one>\d+) must (?:be|equal)|cannot reshape array of size (?P<other>\d+) into"
)
DIVIDED: Final = (
    "Choose a size, as of the batch, that every number of devices divides: 1, 2, 3 and 4 divide 12. Or leave numbers "
    "out, as by --replicas 1,2"
)
FIXED: Final = (
    "The program makes a mesh of a fixed number of devices. Make it of as many as there are, len(jax.devices()), or "
    "choose numbers with which it runs, as by --replicas 4,8"
)
REFUSED: Final = (
    "The script itself raises this for a number of devices. Choose numbers with which it runs, as by --replicas 4,8"
)
_OF_DEVICES: Final = re.compile(r"\bdevices?\b|device_count", re.IGNORECASE)
_FLAG: Final = "--xla_force_host_platform_device_count"
COMPILED_BYTES_MAX: Final = 256 << 20
"""How much compiled code a check keeps at most, but for what one process adds: it has the program's constants in it."""
_LOADING: Final = (
    "The check makes the devices before it loads the file, in a process for each number of them: what chooses a number "
    "of devices or connects processes, such as jax.config.update('jax_num_cpu_devices', …) and "
    "jax.distributed.initialize(), belongs under if __name__ == '__main__'."
)


def choose_devices(count: int, *, in_order: bool) -> None:
    """Chooses how many host devices JAX makes.  in_order: whether a call of a program ends before the next begins."""
    flags = [flag for flag in os.environ.get("XLA_FLAGS", "").split() if not flag.startswith(_FLAG)]
    os.environ["XLA_FLAGS"] = " ".join([*flags, f"{_FLAG}={count}"])
    _CONFIG.update("jax_platforms", "cpu")
    if in_order:
        _CONFIG.update("jax_cpu_enable_async_dispatch", False)


def keep_compiled(folder: str) -> None:
    """Keeps compiled code in a folder, where later processes of a check find it; in the user's where one is chosen."""
    if _CONFIG.jax_compilation_cache_dir or _bytes_in(Path(folder)) > COMPILED_BYTES_MAX:
        return
    _CONFIG.update("jax_compilation_cache_dir", folder)
    _CONFIG.update("jax_persistent_cache_min_compile_time_secs", 0)
    _CONFIG.update("jax_persistent_cache_min_entry_size_bytes", -1)


def _bytes_in(folder: Path) -> int:
    return sum(one.stat().st_size for one in folder.iterdir()) if folder.is_dir() else 0


def load_problem(error: Exception, job: Job, where: str) -> str:
    """Returns why a program could not be loaded, as a sentence.  where: the process, as in ``in worker 1``."""
    site = raised_where(error, with_text=False)
    return f"{Path(job.file).name} was loaded {where}, and raised {type(error).__name__}: {error} {site}. {_LOADING}"


def run_once(program: Callable[..., Any], job: Job, run: Run) -> Found:
    """Runs the program once.  An exception is an outcome too, but for KeyboardInterrupt."""
    devices = [jax.devices()[number] for number in run.order]
    mesh = Mesh(np.array(devices).reshape(len(devices), *[1] * (len(job.axes) - 1)), job.axes)
    checkpoint = Checkpoint(run.saved) if takes_checkpoint(program) else None
    given = run.arguments if checkpoint is None else {**run.arguments, "checkpoint": checkpoint}
    error: tuple[str, str] | None = None
    notes: tuple[str, ...] = ()
    result, sizes = Result.none(), {}
    with same_folder(), _printed() as printed, with_forms(form_of):
        try:
            value = functools.partial(program, **given)(mesh)
        except KeyboardInterrupt:
            raise
        except BaseException as caught:  # noqa: BLE001 - compared like a value: several may raise the same
            error = (type(caught).__name__, shown_text(caught))
            notes = (
                raised_where(caught, with_text=False),
                *_advice(caught, job, len(devices), is_script=script_of(program) is not None),
            )
        else:
            sizes = sizes_in(value) if isinstance(value, Kept) else {}
            result = result_of(trained_in(value) if isinstance(value, Kept) else value, devices)
    saved = None if checkpoint is None else Saved(checkpoint.saved, checkpoint.saves, checkpoint.restored)
    shown = result.contents, result.copies, result.unequal, result.by_device
    return Found(*shown, error, notes, (), (), printed.getvalue(), saved, None, result.spread, sizes)


def _advice(error: BaseException, job: Job, devices: int, *, is_script: bool) -> tuple[str, ...]:
    """Returns what to do about an error over the names of axes, a number of devices, or a size; else ().

    JAX has several texts for a name that no axis has, and an assertion without a text where `psum` gets one.
    """
    text = error_text(error)
    last = traceback.extract_tb(error.__traceback__)[-1:]
    fixed = _COUNTED.search(text)
    if fixed is not None and str(devices) in fixed.groups():
        return (FIXED,)
    size = _INDIVISIBLE.search(text)
    if size is not None and size["first"] in (None, str(devices)):
        return (DIVIDED,)
    if is_script:
        return _refusal(text, last, job)
    theirs = isinstance(error, AssertionError) and not text and not any("assert" in (one.line or "") for one in last)
    if not theirs and not any(sign in text for sign in _OF_AXES):
        return ()
    names = ", ".join(map(repr, job.axes))
    found = (
        f"The mesh of this check has the axes {names}. Name others in the annotation, mesh: Annotated[Mesh, 'batch']"
    )
    return (f"{found}, or use mesh.axis_names",)


def _refusal(text: str, last: Sequence[traceback.FrameSummary], job: Job) -> tuple[str, ...]:
    """Returns what to do about an error that a script raises for its number of devices; else ().

    text: of the error. last: where it was raised.
    """
    line = (last[0].line or "") if last and last[0].filename == job.file else ""
    if line.startswith("assert") and "%" in line:
        return (DIVIDED,)
    if line.startswith(("assert", "raise")) and _OF_DEVICES.search(f"{line} {text}"):
        return (REFUSED,)
    return ()


@contextlib.contextmanager
def _printed() -> Iterator[io.StringIO]:
    """Keeps what is printed inside."""
    kept = io.StringIO()
    with contextlib.redirect_stdout(kept):
        yield kept
    sys.stdout.flush()
