"""Each rule on imports, probes, patches, names and docstrings sees what it forbids, and nothing else."""

import ast
import re
import textwrap
import tomllib
from pathlib import Path

import pytest

from ci.tidy.docstrings import check_docstrings
from ci.tidy.exceptions import EXCEPTIONS, Exempt
from ci.tidy.repository import sort_out
from ci.tidy.structure import BACKENDS, check_structure
from ci.tidy.violation import Violation

ROOT = Path(__file__).resolve().parents[2]
CORE = "simstrategy/x.py"


def rules(text, file=CORE):
    return [one.rule for one in check_structure(file, ast.parse(textwrap.dedent(text)))]


def docstring_rules(text, file=CORE):
    return [one.rule for one in check_docstrings(file, ast.parse(textwrap.dedent(text)))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f():\n    import json\n", "import in a function: import json"),
        ("def f():\n    def g():\n        from a import b\n", "import in a function: from a import b"),
        ("async def f():\n    import json\n", "import in a function"),
        ("x = hasattr(y, 'part')\n", "probe: hasattr(y, 'part')"),
        ("x = hasattr(y, name)\n", "probe"),
        ("x = getattr(y, 'part', None)\n", "probe: getattr(y, 'part', None)"),
        ("x = getattr(y, name, None)\n", "probe"),
        ("try:\n    x\nexcept AttributeError:\n    pass\n", "probe: except AttributeError"),
        ("try:\n    x\nexcept (TypeError, AttributeError):\n    pass\n", "probe: except AttributeError"),
        ("class A(B):\n    def f(self):\n        super().f()\n", "super()"),
        ("class A:\n    def __getattr__(self, name):\n        return 1\n", "__getattr__: write the members down"),
        ("class A:\n    def f(self):\n        raise NotImplementedError\n", "raise NotImplementedError in class A"),
        (
            "class A:\n    def f(self):\n        raise NotImplementedError('x')\n",
            "raise NotImplementedError in class A",
        ),
        ("import json\njson.dumps = None\n", "patch: json.dumps"),
        ("import a.b\na.b.c += 1\n", "patch: a.b.c"),
        ("from a import B\ndel B.method\n", "patch: B.method"),
        ("from a import B as C\nC.x, y = 1, 2\n", "patch: C.x"),
        ("def f():\n    json.dumps = 1\nimport json\n", "patch: json.dumps"),
        ("setattr(B, 'x', 1)\n", "patch: setattr(B, 'x', 1)"),
        ("if backend.name == x:\n    pass\n", "a backend's name compared: backend.name"),
        ("if self._backend.name in x:\n    pass\n", "a backend's name compared: self._backend.name"),
        ("if name == 'gloo':\n    pass\n", "a backend's name compared: 'gloo'"),
        ("if name in ('json', 'sim'):\n    pass\n", "a backend's name compared: ('json', 'sim')"),
        ("x = name in frozenset({'xla'})\n", "a backend's name compared"),
        ("match name:\n    case 'torch':\n        pass\n", "a backend's name compared: 'torch'"),
        ("x = name.startswith('xla')\n", "a backend's name compared: 'xla'"),
        ("x = type(y).__name__ == 'Variable'\n", "a class recognised by its name"),
        ("x = type(y).__qualname__ in names\n", "a class recognised by its name"),
        ("x = 'Variable' != y.__class__.__name__\n", "a class recognised by its name"),
        ("x = type(y).__name__.startswith('Var')\n", "a class recognised by its name"),
    ],
)
def test_a_forbidden_structure_is_seen(text, expected):
    found = rules(text)
    assert len(found) == 1
    assert expected in found[0]


@pytest.mark.parametrize(
    "text",
    [
        "import json\n",
        "class A:\n    import json\n",
        "x = getattr(y, name)\n",
        "x = getattr(function, '__code__', None)\n",
        "x = hasattr(value, '_fields')\n",
        "def f():\n    raise NotImplementedError\n",
        "class A:\n    def f(self):\n        raise TypeError\n",
        "import json\nx = json.dumps\nx.y = 1\n",
        "import json\njson_like.x = 1\n",
        "class A:\n    pass\nsetattr(A, 'x', 1)\n",
        "if device.name == x:\n    pass\n",
        "x = {'sim': 1}\n",
        "x = open_backend('sim')\n",
        "x = f'{type(y).__name__}'\n",
        "x = function.__name__ == 'main'\n",
        "try:\n    x\nexcept TypeError:\n    pass\n",
    ],
)
def test_an_allowed_structure_is_not_reported(text):
    assert rules(text) == []


@pytest.mark.parametrize(
    ("file", "is_seen"),
    [
        ("simstrategy/data/x.py", True),
        ("backends/torch/simstrategy_torch/x.py", True),
        ("property_tests/simstrategy_conformance/x.py", True),
        ("property_tests/simstrategy_conformance/clauses/test_x.py", False),
        ("backends/torch/tests/test_x.py", False),
        ("ci/x.py", False),
    ],
)
def test_the_structure_of_what_is_shipped_is_checked_but_for_tests(file, is_seen):
    assert bool(rules("x = hasattr(y, 'part')\n", file)) == is_seen
    assert bool(docstring_rules("def f(x):\n    'Return x.'\n", file)) == is_seen


def test_the_names_of_backends_are_those_that_the_distributions_install():
    projects = [ROOT / "pyproject.toml", *(ROOT / "backends").glob("*/pyproject.toml")]
    names = set()
    for project in projects:
        settings = tomllib.loads(project.read_text(encoding="utf-8"))
        names |= set(settings["project"].get("entry-points", {}).get("simstrategy.backends", {}))
    assert "sim" in names
    assert names == BACKENDS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(x):\n    'Return x.'\n", "third person"),
        ("def f(x):\n    'The sum of x.'\n", "third person"),
        ("class A:\n    def f(self):\n        'Sum of x.'\n", "third person"),
        ("def f(x):\n    'Returns x'\n", "its first line is a sentence"),
        ("def f(x: Array):\n    'Returns x.'\n", "no shape in brackets for x"),
        ("def f(x: 'torch.Tensor', y):\n    'Returns x.'\n", "no shape in brackets for x"),
        ("def f(*, x: Sequence[Array] | None = None):\n    'Returns x.'\n", "no shape in brackets for x"),
        ("class A:\n    def f(self, *x: np.ndarray):\n        'Returns x.'\n", "no shape in brackets for x"),
    ],
)
def test_a_docstring_without_enough_is_seen(text, expected):
    found = docstring_rules(text)
    assert len(found) == 1
    assert expected in found[0]


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    'Returns x.'\n",
        "def f(x):\n    'All-reduces x.'\n",
        "def f(x):\n    'Is x.'\n",
        "def f(x: Array):\n    'Returns x [batch, ...].'\n",
        "def f(x: Array):\n    '''Returns x.\n\n    x: [batch, ...]\n    '''\n",
        "def f(x: Array): ...\n",
        "def _f(x: Array):\n    'x'\n",
        "class _A:\n    def f(self):\n        'x'\n",
        "class A:\n    @property\n    def f(self):\n        'The sum of x.'\n",
        "def f(x: int) -> Array:\n    'Returns x.'\n",
    ],
)
def test_a_docstring_with_enough_is_not_reported(text):
    assert docstring_rules(text) == []


def test_commands_are_described_in_the_imperative():
    text = "def run():\n    'Run a program.'\n"
    assert docstring_rules(text, "simstrategy/cli/run.py") == []
    assert len(docstring_rules(text)) == 1


ONE = Violation("simstrategy/x.py", 3, "probe: hasattr(y, 'part')")


def test_a_row_of_the_table_allows_a_violation():
    assert sort_out([ONE], [Exempt("simstrategy/*.py", "'part'", "why")]) == []
    assert sort_out([ONE], []) == [ONE]


@pytest.mark.parametrize("row", [Exempt("simstrategy/y.py", "'part'", ""), Exempt("simstrategy/x.py", "'other'", "")])
def test_a_row_that_allows_nothing_is_a_violation(row):
    left = sort_out([ONE], [row])
    assert left[0] == ONE
    assert "a row that allows nothing" in left[1].rule
    assert [one.rule for one in sort_out([], [row])] == [left[1].rule]


def test_a_row_for_more_violations_than_it_allows_is_for_none():
    two = [ONE, ONE._replace(line=4)]
    row = Exempt("simstrategy/x.py", "probe", "why")
    left = sort_out(two, [row])
    assert left[:2] == two
    assert "1 allowed, 2 found" in left[2].rule
    assert sort_out(two, [row._replace(most=2)]) == []


def test_every_row_of_the_table_has_a_reason():
    assert all(re.search(r"\w+ \w+", row.reason) for row in EXCEPTIONS)
