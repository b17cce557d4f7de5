"""Makes a corpus of a few small programs in a folder, for tests of the reader and of the score.  It holds no test."""

import json
from pathlib import Path

from simstrategy_corpus.reading import read_bug

WRONG = "total = 4.0\nprint('result total', total * 2)\n"
RIGHT = "total = 4.0\nprint('result total', total)\n"
FIELDS = {
    "source": "https://example.org/1",
    "symptom": "The total is twice as large.",
    "cause": "It is multiplied.",
    "laws": ["replicas"],
    "shows": "runs differ",
    "kind": "wrong factor",
    "place": ["print('result total', total * 2)"],
}
RUN = {"launcher": "jax", "replicas": [1, 2], "same_output": "^result "}


def write_bug(folder: Path, name="doubled", without=(), run=None, **fields):
    """Writes a bug's folder and returns it.  fields: of bug.toml, other than those above."""
    place = folder / "bugs" / name
    place.mkdir(parents=True)
    (place / "wrong.py").write_text(WRONG)
    (place / "right.py").write_text(RIGHT)
    kept = {key: value for key, value in {**FIELDS, **fields}.items() if key not in without}
    lines = [f"{key} = {json.dumps(value)}" for key, value in kept.items()]
    lines += ["[run]", *(f"{key} = {json.dumps(value)}" for key, value in {**RUN, **(run or {})}.items())]
    (place / "bug.toml").write_text("\n".join(lines))
    return place


def small_bug(folder: Path, **fields):
    """Returns a bug that was written and read."""
    return read_bug(write_bug(folder, **fields))
