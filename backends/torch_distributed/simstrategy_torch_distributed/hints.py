"""An error of a script as one line of text: what it is, where it was raised, and what to do about it.

What to do is known of errors that torch and Python word for real processes and for GPUs. No torch here.
"""

import os
import re
from pathlib import Path
from typing import Final

from simstrategy.run.frames import is_users_file
from simstrategy.run.status import raised_where
from simstrategy.short_repr import without_addresses
from simstrategy.trace import describe_site

__all__ = ["add_hint", "worded"]

_OURS: Final = f"{Path(__file__).parent}{os.sep}"
_NO_GPU: Final = (
    "Simulated ranks have no GPU: pass the backend gloo, or none, to init_process_group, or the option "
    "--device cpu-for-cuda."
)
_CPU_ALONE: Final = "Simulated ranks have the CPU alone: leave tensors and models there, or pass --device cpu-for-cuda."
_GLOO: Final = "Simulated ranks stand in for gloo: pass the backend gloo, or none, to init_process_group."
_HINTS: Final = {
    "doesn't have NCCL built in": _NO_GPU,
    "ProcessGroupNCCL is only supported with GPUs": _NO_GPU,
    "doesn't have MPI built in": "Simulated ranks have no MPI: pass the backend gloo, or none, to init_process_group.",
    "Unknown backend type": _GLOO,
    "Unknown c10d backend type": _GLOO,
    "EOF when reading a line": "A simulated rank has no input: pass what it needs as arguments of the script.",
    "Torch not compiled with CUDA enabled": _CPU_ALONE,
    "'torch._C' has no attribute '_cuda_": _CPU_ALONE,
    "Found no NVIDIA driver": _CPU_ALONE,
    "No CUDA GPUs are available": _CPU_ALONE,
    "Attempting to deserialize object on a CUDA device": _CPU_ALONE,
    "Your setup doesn't support bf16/gpu": _CPU_ALONE,  # transformers, of bf16=True
    "No supported gpu backend found": _CPU_ALONE,  # Lightning, of accelerator="gpu"
    "CUDAAccelerator` can not run on your system": _CPU_ALONE,  # Lightning, of accelerator="cuda"
    "device_ids and output_device arguments only work with": (
        "Simulated ranks have the CPU alone: leave device_ids and output_device out, or pass --device cpu-for-cuda."
    ),
}
"""What to do, by a part of the text: with builds of torch without CUDA, and with CUDA on a machine without a GPU."""


def add_hint(error: BaseException) -> None:
    """Adds to an error, as a note that Python prints, what to do about it, where that is known."""
    for part, hint in _HINTS.items():
        if part in str(error):
            error.add_note(hint)
            return


def worded(error: BaseException) -> str:
    """Returns an error as a line of text, with what a worker process has raised and with the hint that it has."""
    notes = [note for note in dict.fromkeys(_HINTS.values()) if note in getattr(error, "__notes__", ())]
    return ". ".join([raised_where(error), *_of_worker(str(error)), *notes])


def _of_worker(text: str) -> list[str]:
    """Returns the error and the user's line of a traceback in a text: as a list of one text; an empty one for none.

    torch puts the traceback of another process there: of a worker of a DataLoader, or of a process that it spawns.
    """
    before, _, traceback = text.rpartition("Traceback (most recent call last):\n")
    raised = re.search(r"^\S.*", traceback, re.MULTILINE)
    if not before or raised is None:
        return []
    found = re.findall(r'^ +File "(.*)", line (\d+)', traceback, re.MULTILINE)
    users = [(file, int(line)) for file, line in found if is_users_file(file) and not file.startswith(_OURS)]
    where = f", at {describe_site(users[-1])}" if users else ""
    return [f"In that process{where}: {without_addresses(raised[0]).removesuffix('.')}"]
