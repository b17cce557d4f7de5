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

from misuse_cases import CASES

from simstrategy.errors import SimStrategyError, SimStrategyWarning

FILE = Path(__file__).with_name("messages.toml")
ADVICE = re.compile(
    r"\b(choose|make another|Reshape|chooses outside|takes|must|needs|may be named|all need|should be called|"
    r"to be inside|is True, False or|lanes is|options are|dataset_fn is|open the backend|use|compute|iterate|"
    r"They may differ|does not fit the variables|Mend|Check|"
    r"[A-Z][a-z]+ (it|a|an|the|one|in|with|that|this|another|for|by|your|rows|at|them|what|new|SUM|None|your own))\b|"
    r"\b(Use|Call|Write|Pass|Make|Ask|All must make|Leave|Choose) "
)
"""What to do, or what would have been right."""


def said(name):
    """Returns the class, the message and the notes of a case, with call sites that do not move with the file."""
    try:
        # A context of its own: a scope that is left open by mistake is nobody else's.
        contextvars.copy_context().run(CASES[name])
    except (SimStrategyError, SimStrategyWarning) as error:
        notes = getattr(error, "__notes__", [])
        text = re.sub(r"misuse_cases\.py:\d+", "HERE", "\n".join([f"{type(error).__name__}: {error}", *notes]))
        text = re.sub(r"Installed: [^.]*", "Installed: …", text)
        text = re.sub(r" at 0x[0-9a-f]+", "", text)
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
    assert ADVICE.search(text), f"no advice in: {text}"


if __name__ == "__main__":
    lines = []
    for case in CASES:
        try:
            message = said(case)
        except Exception:  # noqa: BLE001 - shown to who writes the file
            message = "WRONG " + traceback.format_exc(limit=-2)
        lines.append(f'"{case}" = """\\\n{message.replace(chr(92), chr(92) * 2)}"""\n')
    FILE.write_text("\n".join(lines), encoding="utf-8")
