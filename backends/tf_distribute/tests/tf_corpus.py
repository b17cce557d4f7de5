"""The programs of corpus.toml, and what is known of each.  It holds no test."""

import tomllib
from pathlib import Path
from typing import Any

import features
import keras_fits
import loops

__all__ = ["RIGHT", "TABLE", "WRONG", "program_of"]

MODULES = {"loops": loops, "keras_fits": keras_fits, "features": features}
TABLE: dict[str, dict[str, Any]] = {
    f"{module}.{name}": row
    for module, rows in tomllib.loads((Path(__file__).parent / "corpus.toml").read_text()).items()
    for name, row in rows.items()
}
WRONG = [name for name, row in TABLE.items() if "law" in row]
RIGHT = [name for name in TABLE if name not in WRONG]


def program_of(name: str) -> Any:
    module, _, function = name.partition(".")
    return vars(MODULES[module])[function]
