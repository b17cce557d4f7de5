"""What a rank runs of a submission in PyTorch: it loads the file, runs the lesson's part, and leaves what that returns.

PyTorch is imported by the lesson's part, not here, and the rank has joined its group before `run` is called. No answer
is loaded here. What is left may be forged by the submission, and is judged as data elsewhere.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from simstrategy_course.guard import close_off, limit
from simstrategy_course.running import PROGRAM, failure_of, module_of

__all__ = ["JOB", "SCRIPT", "rank_name", "run"]

JOB: Final = "job.json"
"""The name of the file with what a rank needs, as JSON."""
SCRIPT: Final = "on_rank.py"
"""The name of the script that each rank runs."""

_PACKAGE: Final = "simstrategy_course"


def rank_name(number: int) -> str:
    """Returns the name of the file that a rank leaves."""
    return f"rank{number}.json"


def run(folder: Path, number: int) -> None:
    """Runs a submission in this process, and leaves its results, or how it failed, and what was refused.

    folder: with the job: `file`, the submission's name; `functions`; `data`, arrays as dtype, shape and elements;
    `closed`, files and folders that may not be read; `seconds`; `memory_bytes`. number: of the rank. Raises what the
    submission raises.
    """
    job = json.loads((folder / JOB).read_text(encoding="utf-8"))
    file, left = folder / job["file"], folder / rank_name(number)
    refused: list[str] = []
    texts = [path.read_text(encoding="utf-8") for path in (file, folder / PROGRAM)]
    data = {name: np.asarray(one["elements"], one["dtype"]).reshape(one["shape"]) for name, one in job["data"].items()}
    limit(job["seconds"], job["memory_bytes"])
    for name in [name for name in sys.modules if name.partition(".")[0] == _PACKAGE]:
        del sys.modules[name]
    close_off(folder, job["closed"], _PACKAGE, refused.append)
    try:
        written = module_of(texts[0], file)
        sys.modules[written.__name__] = written
        program = module_of(texts[1], folder / PROGRAM)
        vars(program).update({name: vars(written)[name] for name in job["functions"]})
        results = _as_json(vars(program)["program"](data))
    except BaseException as error:
        _leave(left, {"failure": failure_of(error, file), "refused": refused})
        raise
    _leave(left, {"results": results, "refused": refused})


def _as_json(results: Mapping[str, Any]) -> dict[str, Any]:
    arrays = {str(name): np.asarray(value) for name, value in results.items()}
    return {
        name: {"dtype": one.dtype.name, "shape": one.shape, "elements": one.reshape(-1).tolist()}
        for name, one in arrays.items()
    }


def _leave(file: Path, what: dict[str, Any]) -> None:
    file.write_text(json.dumps(what), encoding="utf-8")
