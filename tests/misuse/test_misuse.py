"""What misuse of public names says: what is wrong, where, and what to do, in whole messages.

The messages are in `messages.toml`, read and approved by people. `python tests/misuse/test_misuse.py` writes
them anew, for a reader of the difference.
"""

import contextvars
import re
import sys
import tomllib
import traceback
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))  # where this file is run as a script

from misuse_cases import CASES

from simstrategy.errors import SimStrategyError, SimStrategyWarning

FILE = Path(__file__).with_name("messages.toml")
VERBS = re.compile(
    "(Add|Ask|Call|Cast|Change|Check|Choose|Compute|Convert|Correct|Cut|Draw|Enter|Fix|Give|Install|Iterate|Leave|Make|Mend|Name|"
    "Open|Pad|Pass|Reduce|Replay|Reshape|Return|Take|Use|Write) "
)
"""What an advice begins with."""


def has_advice(text):
    """Returns whether the last sentence of a message, or what follows its last ; or :, begins with a verb of advice.

    Lines about single replicas and variables, which are indented, and the notes of an exception do not count.
    """
    message = text.partition(": ")[2].partition("\nIn replica ")[0]
    prose = " ".join(line for line in message.splitlines() if not line.startswith("  "))
    *_, last = re.split(r"(?<=[.?:]) (?=[A-Z])", prose)
    _, mark, clause = last.rpartition("; ") if "; " in last else last.rpartition(": ")
    return VERBS.match(last) is not None or (bool(mark) and VERBS.match(clause.capitalize()) is not None)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("InvalidType: run takes a function. Pass one.", True),
        ("InvalidType: run takes a function, got 3.", False),
        ("InvalidArgument: check takes a function, got 3.", False),
        ("InvalidArgument: 'MAX' is no op; use ReduceOp.SUM.", True),
        ("InvalidArgument: 'MAX' is no op; it is one of two.", False),
        ("InvalidArgument: gather got arrays.\n  replica 0: float32\nUse one shape.", True),
        ("InvalidArgument: gather got arrays.\n  replica 0: use float32", False),
        ("ContextError: It was called here.\nIn replica 0: error. Use run.", False),
    ],
)
def test_advice_is_the_last_sentence_and_begins_with_a_verb(text, found):
    assert has_advice(text) is found


def said(name):
    """Returns the class, the message and the notes of a case, with call sites that do not move with the file."""
    try:
        # A context of its own: a scope that is left open by mistake is nobody else's.
        contextvars.copy_context().run(CASES[name])
    except (SimStrategyError, SimStrategyWarning) as error:
        notes = getattr(error, "__notes__", [])
        text = re.sub(r"\w+\.py:\d+", "HERE", "\n".join([f"{type(error).__name__}: {error}", *notes]))
        text = re.sub(r"Installed: [^.]*", "Installed: …", text)
        return re.sub(r"(/[\w.-]+)+/(no such)", r"FOLDER/\2", text)
    return "nothing"


def test_there_are_enough_cases_of_enough_names():
    assert len(CASES) >= 80
    assert len({name.split()[0] for name in CASES}) >= 40


def test_the_messages_are_of_the_cases():
    assert sorted(tomllib.loads(FILE.read_text(encoding="utf-8"))) == sorted(CASES)


@pytest.mark.parametrize("name", CASES)
def test_a_misuse_says_what_where_and_what_to_do(name):
    text = said(name)
    assert text == tomllib.loads(FILE.read_text(encoding="utf-8"))[name]
    assert has_advice(text), text


if __name__ == "__main__":
    lines = []
    for case in CASES:
        try:
            message = said(case)
        except Exception:  # noqa: BLE001 - shown to who writes the file
            message = "WRONG " + traceback.format_exc(limit=-2)
        lines.append(f'"{case}" = """\\\n{message.replace(chr(92), chr(92) * 2)}"""\n')
    FILE.write_text("\n".join(lines), encoding="utf-8")
