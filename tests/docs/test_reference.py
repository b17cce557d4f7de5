"""Every public name has an entry in the reference, with a description and an example that runs.

Where: `docs/reference/`. An entry is a directive of Sphinx's autodoc. Its example is in the name's docstring, or in a
block of the section that has the entry; `test_blocks.py` and `tests/test_examples.py` run them.
"""

import inspect
import re
from typing import NamedTuple

import pytest
from blocks import ROOT
from test_surface import PROMISED, owner_of

import simstrategy as ss

REFERENCE = ROOT / "docs" / "reference"
_ENTRY = re.compile(r"^\.\. auto(\w+):: simstrategy\.(\S+)((?:\n   :.*)*)(\n\n   \w)?", re.MULTILINE)
_MEMBERS = re.compile(r":members:(.*)")
_BLOCK = re.compile(r"^```(?:pycon|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Entry(NamedTuple):
    """One entry.  code: of the examples in its section; is_described: whether the page describes it."""

    code: str
    is_described: bool


def entries():
    """Returns the entries by public name."""
    found = {}
    for page in sorted(REFERENCE.glob("*.md")):
        for section in re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE):
            code = "\n".join(_BLOCK.findall(section))
            for kind, name, options, text in _ENTRY.findall(section):
                found[name] = Entry(code, bool(text))
                found |= {f"{name}.{member}": Entry(code, False) for member in members(kind, name, options)}
    return found


def members(kind, name, options):
    """Returns which members of a class or module an entry shows too."""
    shown = _MEMBERS.search(options)
    if shown is None:
        return []
    owner, last = owner_of(name)
    listed = [one.strip() for one in shown[1].split(",") if one.strip()]
    of_module = getattr(owner, last).__all__ if kind == "module" else None
    return listed or of_module or [one for one in vars(getattr(owner, last)) if not one.startswith("_")]


ENTRIES = entries()


def docstring(name):
    """Returns the docstring of a public name, or None where its value can have none."""
    owner, last = owner_of(name)
    value = inspect.getattr_static(owner, last, None)
    value = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
    value = getattr(owner, last, None) if value is None else value  # a name that its module imports on its first use
    return inspect.getdoc(value) if callable(value) or isinstance(value, property) else None


def has_example(name):
    """Returns whether an example shows a name: in its docstring, or in the section of its entry."""
    last = re.escape(name.rpartition(".")[2])
    return ">>> " in (docstring(name) or "") or re.search(rf"\b{last}\b", ENTRIES[name].code) is not None


@pytest.mark.parametrize("name", PROMISED)
def test_a_public_name_has_an_entry_with_an_example(name):
    assert name in ENTRIES, f"no `.. auto…:: simstrategy.{name}` in docs/reference/"
    assert docstring(name) or ENTRIES[name].is_described, f"neither its docstring nor its entry describes {name}"
    assert has_example(name), f"no example of {name}, neither in its docstring nor beside its entry"


def test_the_names_of_the_package_are_all_in_the_reference():
    packages = {name for name in ss.__all__ if inspect.ismodule(getattr(ss, name))}
    assert {*ss.__all__} - packages <= ENTRIES.keys()


def test_an_entry_without_an_example_would_be_seen(monkeypatch):
    monkeypatch.setitem(ENTRIES, "Strategy.gather", Entry(">>> strategy.reduce()", False))
    assert not has_example("Strategy.gather")
