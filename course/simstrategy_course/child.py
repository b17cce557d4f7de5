"""What runs in the process of a submission: it loads the file, runs it with each setting, and leaves recordings.

No answer is loaded here. What it returns may be forged by the submission, and is judged as data elsewhere.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

import simstrategy as ss
from simstrategy.trace import Recorder
from simstrategy_course.guard import close_off, limit
from simstrategy_course.lesson import Setting
from simstrategy_course.running import PROGRAM, Failure, failure_of, module_of, run_recorded

__all__ = ["observed", "recording_name"]

_PACKAGE: Final = "simstrategy_course"


def recording_name(number: int) -> str:
    """Returns the name of the file with the recording of a run."""
    return f"run{number}.jsonl"


def observed(job: Mapping[str, Any]) -> dict[str, Any]:
    """Runs a submission; returns how each run failed, or None for one that did not, and what was refused.

    job: `folder`, with the submission and the lesson's part of the program; `file`, its name; `functions`; `settings`;
    `data`, arrays as dtype, shape and elements; `closed`, files and folders that may not be read; `seconds`;
    `memory_bytes`.
    """
    folder = Path(job["folder"])
    file = folder / job["file"]
    refused: list[str] = []
    texts = [path.read_text(encoding="utf-8") for path in (file, folder / PROGRAM)]
    data = {name: np.asarray(one["elements"], one["dtype"]).reshape(one["shape"]) for name, one in job["data"].items()}
    settings = [Setting(*one) for one in job["settings"]]
    for name in {one.backend for one in settings}:
        ss.backend(name, replicas=1).close()  # a framework is imported before files are closed to this process
    limit(job["seconds"], job["memory_bytes"])
    for name in [name for name in sys.modules if name.partition(".")[0] == _PACKAGE]:
        del sys.modules[name]
    close_off(folder, job["closed"], _PACKAGE, refused.append)
    try:
        written = module_of(texts[0], file)
        sys.modules[written.__name__] = written
        program = module_of(texts[1], folder / PROGRAM)
        vars(program).update({name: vars(written)[name] for name in job["functions"]})
    except BaseException as error:  # noqa: BLE001 - of a student's program, `sys.exit` too
        return {"loading": failure_of(error, file), "runs": [], "refused": refused}
    runs: list[Failure | None] = []
    for number, setting in enumerate(settings):
        recorder = Recorder(folder / recording_name(number), root=folder)
        runs.append(run_recorded(vars(program)["program"], setting, data, recorder, file))
        recorder.close()
    return {"loading": None, "runs": runs, "refused": refused}
