"""The repository's own rules, executed: sizes, sources of chance, dead words, clauses without tests.

    python3 ci/run.py tidy

Prints one line per violation as file:line and ends with exit code 1 if there is any.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

FILE_LINES_MAX = 320
FUNCTION_LINES_MAX = 50
PYTHON_FOLDERS = ("simstrategy", "backends", "ci", "examples", "property_tests", "tests")
CORE = "simstrategy/"

# Sources of chance, and the files in which a decision record allows each.
BANNED_MODULES = {
    "random": (),
    "secrets": (),
    "time": ("simstrategy/launch/launcher.py",),
    "uuid": (),
    "datetime": (),
    "threading": ("simstrategy/run/lanes.py",),
    "greenlet": ("simstrategy/run/lanes.py",),
    "socket": ("simstrategy/launch/channel.py", "simstrategy/launch/nursery.py", "simstrategy/launch/ports.py"),
    "subprocess": ("simstrategy/launch/launcher.py",),
    "tempfile": ("simstrategy/launch/nursery.py",),
}
BANNED_CALLS = {"hash": (), "input": (), "breakpoint": (), "eval": (), "exec": ()}
BANNED_NAMES = {"id": ("simstrategy/device/strict.py",)}
BANNED_ATTRIBUTES = {
    "environ": (
        "simstrategy/check/processes.py",
        "simstrategy/check/worker.py",
        "simstrategy/launch/launcher.py",
        "simstrategy/launch/worker.py",
    ),
    "getenv": (),
}
# A registry's host, and folders of one person's machine.
BANNED_TEXT = re.compile(r"py" + r"pi\.org|(?<!\w)/(?:root|work)/\w", re.ASCII)
BANNED_IN_CODE = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b", re.ASCII)
CLAUSE = re.compile(r"^\*\*([A-Z]-\d+)\*\*", re.MULTILINE)
GUIDE, KIT = "docs/writing_a_backend.md", "property_tests/simstrategy_conformance/clauses/test_*.py"
RECORD_HEADINGS = ("## Context", "## Decision", "## What we gave up")


class Violation(NamedTuple):
    """One broken rule, and where."""

    file: str
    line: int
    rule: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.rule}"


def check_python(file: str, text: str) -> Iterator[Violation]:
    """Checks one Python file; `file` is relative to the repository."""
    lines = text.splitlines()
    if len(lines) > FILE_LINES_MAX and not _is_test(file):
        yield Violation(file, 1, f"{len(lines)} lines; {FILE_LINES_MAX} at most: one idea per file")
    tree = ast.parse(text)
    if lines and ast.get_docstring(tree) is None and not file.endswith("conftest.py"):
        yield Violation(file, 1, "no docstring that says what the file is, and what it refuses to be")
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            size = (node.end_lineno or node.lineno) - node.lineno + 1
            if size > FUNCTION_LINES_MAX and not _is_test(file):
                yield Violation(file, node.lineno, f"{node.name} has {size} lines; {FUNCTION_LINES_MAX} at most")
        if file.startswith(CORE):
            yield from _check_chance(file, node)
        elif _is_test(file) and isinstance(node, ast.Call) and _called(node) == "sleep":
            yield Violation(file, node.lineno, "sleep in a test: wait for the event itself")


def _is_test(file: str) -> bool:
    *folders, name = file.split("/")
    return "tests" in folders or name.startswith("test_")


def _check_chance(file: str, node: ast.AST) -> Iterator[Violation]:
    for module in _imported(node):
        if file not in BANNED_MODULES.get(module, (file,)):
            yield Violation(file, node.lineno, f"import of {module}: every choice is schedule.choose(label, n)")
    if isinstance(node, ast.Call) and file not in BANNED_CALLS.get(_called(node), (file,)):
        yield Violation(file, node.lineno, f"call of {_called(node)}()")
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and file not in BANNED_NAMES.get(node.id, (file,)):
        yield Violation(file, node.lineno, f"use of {node.id}: addresses differ from run to run")
    if isinstance(node, ast.Attribute) and file not in BANNED_ATTRIBUTES.get(node.attr, (file,)):
        yield Violation(file, node.lineno, f"use of os.{node.attr}: settings are arguments")
    for iterable in _iterated(node):
        if isinstance(iterable, (ast.Set, ast.SetComp)) or (
            isinstance(iterable, ast.Call) and _called(iterable) in {"set", "frozenset"}
        ):
            yield Violation(file, iterable.lineno, "iteration over a set: its order is chance; sort it")


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name.partition(".")[0] for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [node.module.partition(".")[0]]
    return []


def _called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def _iterated(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, (ast.For, ast.AsyncFor)):
        return [node.iter]
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return [generator.iter for generator in node.generators]
    if isinstance(node, ast.Call) and _called(node) in {"list", "tuple", "enumerate", "zip", "map", "iter"}:
        return list(node.args)
    return [node.value] if isinstance(node, ast.Starred) else []


def check_text(file: str, text: str) -> Iterator[Violation]:
    """Checks any text file for words that do not belong on main."""
    for number, line in enumerate(text.splitlines(), 1):
        found = BANNED_TEXT.search(line) or (file.endswith(".py") and BANNED_IN_CODE.search(line))
        if found:
            yield Violation(file, number, f"{found.group()!r} does not belong on main")


def check_clauses(law: str, tests: str) -> Iterator[Violation]:
    """Checks that every numbered clause of docs/semantics.md is named by a test."""
    named = set(re.findall(r"\b[A-Z]-\d+\b", tests))
    for match in CLAUSE.finditer(law):
        if match.group(1) not in named:
            line = law.count("\n", 0, match.start()) + 1
            yield Violation("docs/semantics.md", line, f"clause {match.group(1)} has no test that names it")


def check_kit(law: str, guide: str, kit: dict[str, str]) -> Iterator[Violation]:
    """Checks that the kit has tests of the very clauses that its guide lists, and that all of them are the law's.

    kit: the text of each of its files of tests.
    """
    heading, found = "## What is examined", {}
    start = guide.find(heading)
    if start < 0:
        yield Violation(GUIDE, 1, f"no part {heading!r}, which lists the clauses that the kit examines")
        return
    listed = {one: guide.count("\n", 0, start) + 1 for one in re.findall(r"\b[A-Z]-\d+\b", guide[start:])}
    for file, text in kit.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and _called(node) in {"clause", "property_test"}:
                found |= {one.value: (file, node.lineno) for one in node.args if isinstance(one, ast.Constant)}
    for clause in sorted(set(listed) - set(found)):
        yield Violation(GUIDE, listed[clause], f"clause {clause} has no test in the conformance kit")
    for clause in sorted(set(found) - set(listed)):
        yield Violation(*found[clause], f"clause {clause} is examined, and {GUIDE} does not list it")
    for clause in sorted(set(found) - set(CLAUSE.findall(law))):
        yield Violation(*found[clause], f"there is no clause {clause} in docs/semantics.md")


def check_record(file: str, text: str) -> Iterator[Violation]:
    """Checks a decision record's parts."""
    for heading in RECORD_HEADINGS:
        if heading not in text:
            yield Violation(file, 1, f"a decision record needs the part {heading!r}")


def check_repository(root: Path) -> list[Violation]:
    """Returns every violation in a repository."""
    found: list[Violation] = []
    tests = []
    for folder in PYTHON_FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            file, text = path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
            found += check_python(file, text)
            found += [] if file == "ci/tidy.py" or file.endswith("test_tidy.py") else check_text(file, text)
            if _is_test(file):
                tests.append(text)
    for path in [*sorted((root / "docs").rglob("*.md")), *sorted(root.glob("*.md"))]:
        file, text = path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
        found += check_text(file, text)
        found += check_record(file, text) if file.startswith("docs/decisions/") else []
    law = root / "docs" / "semantics.md"
    if law.exists():
        found += check_clauses(law.read_text(encoding="utf-8"), "\n".join(tests))
        kit = {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in sorted(root.glob(KIT))}
        found += check_kit(law.read_text("utf-8"), (root / GUIDE).read_text("utf-8"), kit)
    return found


def main() -> int:
    violations = check_repository(Path(__file__).resolve().parent.parent)
    for violation in violations:
        print(violation)
    print(f"tidy: {len(violations)} violations" if violations else "tidy: clean")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
