"""The programs of docs/testing_your_program.md keep their laws, and break them by the change that the text states."""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

import simstrategy as ss
from simstrategy.check.programs import load_program

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "testing_your_program.md"


class Shown(NamedTuple):
    """What the guide states of a program.  bug: a text of the program, and what breaks the law in its place."""

    settings: dict
    bug: tuple[str, str]
    law: str
    verdict: str = "agree"


SHOWN = {
    "Cut": Shown({"vary": {"accumulate": [1, 2, 5]}}, ("/ 10)", "/ 10 / accumulate)"), "cut"),
    "Resume": Shown({"laws": ["resume"]}, ('weights.assign(saved["weights"])', "pass"), "resume"),
    "Coverage": Shown(
        {"laws": ["coverage"]},
        ("    rows = rows.shard(context.num_input_pipelines, context.input_pipeline_id)\n", ""),
        "coverage",
    ),
    "Random": Shown(
        {"laws": ["random"]},
        ("ctx.xp.sum(inputs, axis=0)", "ctx.xp.sum(inputs, axis=0) * np.float32(np.random.normal())"),
        "random",
        "undecided",
    ),
    "Faults": Shown({"laws": ["faults"]}, ("isfinite(total)", "isfinite(own)"), "faults"),
    "State": Shown({}, ('        total = ctx.all_reduce("SUM", total)\n', ""), "repeat"),
}


def programs():
    """Returns the guide's programs by the first word of their headings."""
    text = GUIDE.read_text(encoding="utf-8").partition("\n## More laws\n")[2]
    return dict(re.findall(r"^### (\w+):[^\n]*\n(?:(?!^#).)*?^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))


def checked(tmp_path, name, source, settings):
    file = tmp_path / f"guide_{name.lower()}.py"
    file.write_text(source, encoding="utf-8")
    return ss.check(load_program(file), replicas=[1, 2, 3], **settings)


def test_every_program_of_the_guide_is_tested():
    text = GUIDE.read_text(encoding="utf-8")
    assert sorted(programs()) == sorted(SHOWN)
    assert text.count("```python\n") == len(SHOWN) + 3  # three that the plugin's tests run


@pytest.mark.slow
@pytest.mark.parametrize("name", SHOWN)
def test_a_program_of_the_guide_keeps_its_law(name, tmp_path):
    shown = SHOWN[name]
    report = checked(tmp_path, name, programs()[name], shown.settings)
    assert report.verdict == shown.verdict, str(report)
    assert shown.verdict == "agree" or "NOT JUDGED: no draws" in str(report)


@pytest.mark.slow
@pytest.mark.parametrize("name", SHOWN)
def test_the_change_that_the_guide_states_breaks_the_law(name, tmp_path):
    source, shown = programs()[name], SHOWN[name]
    assert source.count(shown.bug[0]) == 1
    report = checked(tmp_path, f"{name}_changed", source.replace(*shown.bug), shown.settings)
    assert shown.law in {finding.law for finding in report.findings}, str(report)
