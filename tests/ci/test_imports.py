"""The graph of imports sees every kind of import, finds circles of files, and finds none that is not known."""

import os
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import grimp
import pytest

from ci import imports
from simstrategy.run import frames

ROOT = Path(__file__).resolve().parents[2]
UPWARD = "from simstrategy.values import PerReplica\n"
"""An import that closes a circle when it stands in tree.py: values.py imports tree."""

BY_NAME = {("simstrategy_pytest.ranks", "simstrategy_torch_distributed.spawning")}
"""Imports by `import_module`, which grimp does not see: of a distribution that may be missing."""


@pytest.fixture(scope="module")
def imported():
    files = imports.module_files(ROOT)
    return files, imports.imports_of(files)


@pytest.fixture
def planted(imported, tmp_path):
    """Returns what the check reports when a text is added to a copy of tree.py."""
    files, found = imported

    def with_text(text):
        copy = tmp_path / "tree.py"
        copy.write_text(files["simstrategy.tree"].read_text(encoding="utf-8") + text, encoding="utf-8")
        others = [one for one in found if one.importer != "simstrategy.tree"]
        return imports.complaints(others + imports.imports_in("simstrategy.tree", {**files, "simstrategy.tree": copy}))

    return with_text


def modules(folder, **texts):
    """Writes a package `planted` and returns its imports."""
    (folder / "planted").mkdir()
    (folder / "planted" / "__init__.py").write_text("")
    for name, text in texts.items():
        (folder / "planted" / f"{name}.py").write_text(text)
    return imports.imports_of(imports.module_files(folder, {"planted": "."}))


@pytest.mark.deep
def test_the_repository_has_no_circle_of_files_but_known_ones(imported):
    assert len(imported[1]) > 500
    assert imports.complaints(imported[1]) == []


def test_every_package_of_more_than_eight_modules_has_a_contract(imported):
    assert imports.without_layers(imported[0], (ROOT / "ci" / "layers.ini").read_text("utf-8")) == []


def test_a_helper_that_tests_import_by_its_bare_name_has_no_namesake():
    """Else which of them is imported depends on which tests were collected before."""
    options = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["pytest"]["ini_options"]
    helpers = {file.stem for one in options["pythonpath"] for file in (ROOT / one).glob("*.py")}
    folders = {Path(one).resolve() for one in sys.path if one}
    files = [
        file for one in folders if one.is_relative_to(ROOT) and ".venv" not in one.parts for file in one.glob("*.py")
    ]
    found = Counter(file.stem for file in files if not file.stem.startswith(("test_", "conftest")))
    assert "shares" in helpers
    assert {name: count for name, count in found.items() if name in helpers and count != 1} == {}


@pytest.mark.slow
def test_the_graph_is_the_one_that_the_contracts_are_checked_on(imported, monkeypatch):
    for folder in imports.PACKAGES.values():
        monkeypatch.syspath_prepend(str(ROOT / folder))
    graph = grimp.build_graph(*imports.PACKAGES, cache_dir=None)
    theirs = {(one, other) for one in graph.modules for other in graph.find_modules_directly_imported_by(one)}
    ours = {(one.importer, one.imported) for one in imported[1]}
    assert {pair for pair in ours if pair[0] != pair[1]} == theirs | BY_NAME


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (UPWARD, "runtime"),
        ("try:\n    " + UPWARD + "except ImportError:\n    pass\n", "runtime"),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    " + UPWARD, "type checking"),
        ("import typing\nif typing.TYPE_CHECKING:\n    " + UPWARD, "type checking"),
        ("def late():\n    " + UPWARD, "deferred"),
        ("class Late:\n    def late(self):\n        import simstrategy.values\n", "deferred"),
        ("from .values import PerReplica\n", "runtime"),
        ("from . import values\n", "runtime"),
        ("import importlib\nx = importlib.import_module('simstrategy.values')\n", "runtime"),
    ],
)
def test_a_planted_circle_is_seen_whatever_kind_of_import_closes_it(planted, text, kind):
    reported = planted("\n" + text)
    assert "A circle of 2 files" in reported[0]
    assert sum("simstrategy.tree:" in line and f"-> simstrategy.values ({kind})" in line for line in reported) == 1


def test_a_name_in_a_string_annotation_is_no_import(planted):
    assert planted("\ndef late(x: 'simstrategy.values.PerReplica') -> 'PerReplica':\n    return x\n") == []


def test_the_other_branch_of_a_type_checking_test_runs(tmp_path):
    text = "if TYPE_CHECKING:\n    from planted import b\nelse:\n    from planted import c\n"
    found = modules(tmp_path, a=text, b="", c="")
    assert [(one.imported, one.kind) for one in found] == [("planted.b", "type checking"), ("planted.c", "runtime")]


def test_circles_are_strongly_connected_components(tmp_path):
    found = modules(
        tmp_path,
        a="import planted.b",
        b="from planted.c import x",
        c="from planted import a, d",
        d="from planted import e",
        e="def late():\n    from planted.e import x",
    )
    assert imports.circles(found) == [
        frozenset({"planted.a", "planted.b", "planted.c"}),
        frozenset({"planted.e"}),
    ]


def test_each_import_of_a_circle_is_listed(tmp_path):
    found = modules(tmp_path, a="import planted.b", b="import planted.a", c="import planted.a")
    assert imports.complaints(found) == [
        "A circle of 2 files; move what both need to a file below:",
        "  planted.a:1 -> planted.b (runtime)",
        "  planted.b:1 -> planted.a (runtime)",
    ]


def test_a_large_package_without_a_contract_is_seen(tmp_path):
    names = {f"m{number}": "" for number in range(9)}
    modules(tmp_path, **names)
    files = imports.module_files(tmp_path, {"planted": "."})
    layered = "[a]\ntype = layers\ncontainers =\n    other\n    planted\n"
    independent = "[a]\ntype = independence\nmodules = planted.*\n"
    assert imports.without_layers(files, "") == ["planted has 9 modules and no contract in ci/layers.ini"]
    assert imports.without_layers(files, layered) == []
    assert imports.without_layers(files, independent) == []
    named = "[a]\ntype = layers\nlayers =\n    planted.m8\n    " + " | ".join(
        f"planted.m{number}" for number in range(7)
    )
    assert imports.without_layers(files, named) == ["no contract in ci/layers.ini names planted.m7"]


@pytest.mark.deep
@pytest.mark.slow
def test_the_step_ends_with_an_error_when_a_copy_of_the_repository_has_a_circle(tmp_path):
    for folder in ("ci", *(f"{folder}/{package}" for package, folder in imports.PACKAGES.items())):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "ci.imports"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    codes = [
        subprocess.run(command, cwd=tmp_path, env=environment, check=False, capture_output=True, timeout=300).returncode
    ]
    with (tmp_path / "simstrategy" / "tree.py").open("a", encoding="utf-8") as file:
        file.write("def late():\n    " + UPWARD)
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, check=False, capture_output=True, text=True, timeout=300
    )
    assert [*codes, done.returncode] == [0, 1]
    assert "A circle of 2 files" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "text", "contract"),
    [
        ("data/nodes.py", "if TYPE_CHECKING:\n    from simstrategy.data.dataset import Dataset\n", "simstrategy.data"),
        ("sim/cost.py", "def late():\n    from simstrategy.sim.cluster import Cluster\n", "simstrategy.sim"),
    ],
)
def test_the_contracts_count_imports_under_type_checking_and_in_functions(tmp_path, file, text, contract):
    shutil.copytree(ROOT / "simstrategy", tmp_path / "simstrategy", ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "simstrategy" / file).open("a", encoding="utf-8") as planted:
        planted.write(text)
    command = [Path(sys.executable).parent / "lint-imports", "--no-cache", "--config", ROOT / "ci" / "layers.ini"]
    others = sorted({str(ROOT / folder) for folder in imports.PACKAGES.values() if folder != "."})
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *others]), "COLUMNS": "200"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    broken = [line for line in done.stdout.splitlines() if line.endswith("BROKEN")]
    assert done.returncode == 1
    assert len(broken) == 1
    assert f"Layers of {contract}" in broken[0]


def test_the_packages_whose_lines_are_no_user_s_are_those_of_the_repository() -> None:
    folders = (*ROOT.glob("backends/*/simstrategy_*"), *ROOT.glob("property_tests/**/simstrategy_*"))
    packages = {folder.name for folder in folders if (folder / "__init__.py").is_file()}
    assert packages | {"simstrategy"} == frames._OURS
