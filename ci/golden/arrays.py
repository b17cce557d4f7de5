"""Arrays, numbers and errors as JSON, the form of the recorded files; and whether two answers are one.

Runs on Python 3.7 with NumPy 1.16 as well as on today's, hence no newer syntax. It knows no TensorFlow.
"""

import re

import numpy as np

TEXT_LENGTH_MAX = 200
CUTS = (160, TEXT_LENGTH_MAX)
"""The lengths at which messages were cut off when they were recorded."""

# What differs from run to run, or from machine to machine, and says nothing.
PASSING = (
    (re.compile(r"\bid=\d+, "), ""),
    (re.compile(r"0x[0-9a-f]+"), "0x…"),
    (re.compile(r'File "[^"]*", line \d+, in \S+'), ""),
    (re.compile(r"(?<![\w.:}])/(?:[\w.-]+/)+f\d+\.txt"), "…"),
    # A mark that protocol buffers change at will, so that nobody reads their text back.
    (re.compile(r"goo\.gle/debug\w+"), "goo.gle/debug"),
    (re.compile(r"\s+"), " "),
)


def encoded(value):
    """Returns an array, or a tensor that has `numpy()`, as a JSON object."""
    array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
    return {"dtype": array.dtype.name, "shape": list(array.shape), "data": [_written(x) for x in array.reshape(-1)]}


def decoded(value):
    """Returns the array that a JSON object describes."""
    dtype = np.dtype(value["dtype"])
    data = [_read(item, dtype.kind) for item in value["data"]]
    return np.array(data, dtype).reshape(value["shape"])


def _written(number):
    if np.iscomplexobj(number):
        return [_written(number.real), _written(number.imag)]
    plain = number.item()
    if isinstance(plain, float) and not np.isfinite(plain):
        return "nan" if np.isnan(plain) else "inf" if plain > 0 else "-inf"
    # Halves and singles are doubles too, and Python's shortest text of a double reads back as that double.
    return plain


def _read(item, kind):
    if kind == "c":
        real, imaginary = item
        return complex(float(real), float(imaginary))
    return float(item) if isinstance(item, str) else item


def error(raised):
    """Returns an exception as a JSON object."""
    return {"error": type(raised).__name__, "message": plain(str(raised))[:TEXT_LENGTH_MAX]}


def plain(text):
    """Returns a message without what differs from run to run."""
    for pattern, instead in PASSING:
        text = pattern.sub(instead, text)
    return text


def difference(recorded, given, where="answer"):
    """Returns where two answers differ, in words, or None: numbers to the bit, errors by class and message."""
    if isinstance(recorded, dict) and isinstance(given, dict) and recorded.keys() == given.keys():
        if "error" in recorded:
            same = recorded["error"] == given["error"] and same_text(recorded["message"], given["message"])
            return None if same else f"{where}: {recorded} recorded, {given} given"
        pairs = [(f".{key}", recorded[key], given[key]) for key in recorded]
    elif isinstance(recorded, list) and isinstance(given, list) and len(recorded) == len(given):
        pairs = [(f"[{number}]", recorded[number], given[number]) for number in range(len(recorded))]
    else:
        # By repr, so that 1 is not 1.0 and -0.0 is not 0.0.
        return None if repr(recorded) == repr(given) else f"{where}: {recorded} recorded, {given} given"
    found = [difference(one, two, where + place) for place, one, two in pairs]
    return next((text for text in found if text), None)


def same_text(recorded, given):
    """Returns whether two messages are one; a recorded one may have been cut off."""
    one, two = plain(recorded).strip(), plain(given).strip()
    cut = len(recorded) in CUTS or recorded.endswith("..")
    return one == two or (cut and (two.startswith(one.rstrip(".")) or one.startswith(two)))
