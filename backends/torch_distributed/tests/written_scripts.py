"""Checks scripts that a test writes: one text that begins them all, and the texts of names in it."""

from simstrategy.check.scripts import check_script
from simstrategy_torch_distributed.checking.front import runner_of


def report_of(folder, text, **named):
    """Returns the report on a script with 1 and 2 ranks.  named: texts in place of names in it."""
    script = folder / "train.py"
    for name, value in named.items():
        text = text.replace(name, value)
    script.write_text(text, encoding="utf-8")
    return check_script(runner_of, str(script), replicas=(1, 2))
