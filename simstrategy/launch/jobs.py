"""How a job reaches a process that was forked for it: by a file. And where that process prints."""

import os
import pickle
from pathlib import Path
from typing import Any

from simstrategy.errors import InvalidArgument

__all__ = ["print_to", "read_job", "write_job"]


def write_job(file: Path, job: Any) -> None:
    """Writes a job for another process.  Raises InvalidArgument for one that cannot be sent, such as a lambda."""
    try:
        file.write_bytes(pickle.dumps(job, protocol=pickle.HIGHEST_PROTOCOL))
    except Exception as error:  # `pickle` raises several, and a value may raise any
        raise InvalidArgument(
            f"The values of vary are sent to other processes, and these cannot be: {error}. Give numbers or texts."
        ) from error


def read_job(file: str) -> Any:
    """Returns a job that `write_job` has written, in a process of the same run."""
    return pickle.loads(Path(file).read_bytes())  # noqa: S301 - of the process that started this one


def print_to(output: Path) -> None:
    """Lets all that this process prints, also from C++, go to the end of a file."""
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (1, 2):
        os.dup2(file, stream)
    os.close(file)
