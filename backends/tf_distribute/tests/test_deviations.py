"""The file of deviations is right about TensorFlow: each of its programs prints the stated text."""

import contextlib
import io
import tomllib
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from simstrategy_tf_distribute import open_reference

FILE = Path(__file__).resolve().parents[1] / "deviations.toml"
DEVIATIONS = {one["name"]: one for one in tomllib.loads(FILE.read_text(encoding="utf-8"))["deviation"]}


@pytest.fixture(scope="module")
def strategy() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of a framework at its first use
        return open_reference("mirrored", 2).inner


@pytest.mark.slow
@pytest.mark.parametrize("name", DEVIATIONS)
def test_tensorflow_still_deviates_as_the_file_says(name: str, strategy: Any) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(DEVIATIONS[name]["code"], {"tf": tf, "np": np, "strategy": strategy})
    assert printed.getvalue().strip() == DEVIATIONS[name]["prints"]


def test_reproductions_have_ten_lines_at_most_and_every_field() -> None:
    for one in DEVIATIONS.values():
        assert set(one) == {"name", "what", "ours", "code", "prints"}
        assert len(one["code"].strip().splitlines()) <= 10, one["name"]
