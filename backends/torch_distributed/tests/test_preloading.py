"""The modules of torch that are imported once for all ranks."""

import pytest

from simstrategy_torch_distributed.preloading import modules_of_torch

SCRIPT = """
import os, torch.nn as nn, torch.missing, mine
from torch.distributed import fsdp, all_reduce
from torch.distributed.tensor import DTensor
from .torch import other
def later():
    from torch.utils.data import DataLoader
"""


def test_modules_of_torch_are_found_wherever_they_are_imported_and_no_others(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    assert modules_of_torch(str(script)) == [
        *("torch.distributed", "torch.distributed.fsdp", "torch.distributed.tensor", "torch.nn", "torch.utils.data"),
    ]


@pytest.mark.parametrize("text", ["def f(:", "import torch\x00", ""])
def test_a_script_that_python_cannot_read_has_none(tmp_path, text):
    script = tmp_path / "script.py"
    script.write_text(text)
    assert modules_of_torch(str(script)) == []
    assert modules_of_torch(str(tmp_path / "missing.py")) == []
