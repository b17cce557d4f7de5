"""An error of a script as a line of text: what to do about it, and what a worker process has raised."""

import pytest

from simstrategy_torch_distributed.hints import add_hint, worded

WORKERS = """Caught ValueError in DataLoader worker process 0.
Original Traceback (most recent call last):
  File "/usr/lib/python3.11/site-packages/torch/utils/data/_utils/worker.py", line 374, in _worker_loop
    data = fetcher.fetch(index)
  File "/home/user/train.py", line 8, in __getitem__
    raise ValueError("no row <object object at 0x7fd5c02a4460>")
           ^^^^^^^^^^
ValueError: no row <object object at 0x7fd5c02a4460>
"""


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("module 'torch._C' has no attribute '_cuda_setDevice'", "--device cpu-for-cuda"),
        ("Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU", "--device cpu-for-cuda"),
        ("No supported gpu backend found!", "--device cpu-for-cuda"),
        ("Your setup doesn't support bf16/gpu. You need to assign use_cpu if", "--device cpu-for-cuda"),
        ("ProcessGroupNCCL is only supported with GPUs, no GPUs found!", "pass the backend gloo"),
        ("Unknown c10d backend type UCC", "pass the backend gloo"),
        ("Distributed package doesn't have MPI built in.", "Simulated ranks have no MPI"),
    ],
)
def test_what_to_do_is_stated_once_of_errors_worded_for_real_processes_and_gpus(text, hint):
    error = RuntimeError(text)
    add_hint(error)
    assert len(error.__notes__) == 1
    assert worded(error) == f"RuntimeError({text}). {error.__notes__[0]}"
    assert hint in error.__notes__[0]


def test_nothing_is_added_to_an_error_of_the_scripts_own():
    error = ValueError("wrong")
    add_hint(error)
    assert worded(error) == "ValueError(wrong)"


def test_the_error_of_a_worker_is_given_with_the_users_line():
    assert worded(ValueError(WORKERS)) == (
        "ValueError(Caught ValueError in DataLoader worker process 0.). In that process, at train.py:8: ValueError: "
        "no row <object object>"
    )


@pytest.mark.parametrize(
    "text", ["Traceback (most recent call last):\n", "of a\nTraceback (most recent call last):\n  "]
)
def test_a_text_that_only_begins_like_a_traceback_adds_nothing(text):
    assert worded(ValueError(text)) == f"ValueError({text.splitlines()[0]})"
