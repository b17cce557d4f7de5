"""Clauses without tests, a guide that differs from the kit, decision records without their parts."""

import ast
import re
from collections.abc import Iterator

from ci.tidy.violation import Violation

CLAUSE = re.compile(r"^\*\*([A-Z]-\d+)\*\*", re.MULTILINE)
MARKS = {"call_test", "clause", "each_call_test", "covering_test", "property_test"}
LAW = "docs/semantics.md"
GUIDE, KIT = "docs/writing_a_backend.md", "property_tests/simstrategy_conformance/clauses/test_*.py"
C10D, C10D_KIT = "docs/c10d.md", "property_tests/simstrategy_conformance/c10d/clauses/test_*.py"
"""The clauses of backends of torch.distributed, law and guide in one page, and the kit's tests of them."""
RECORD_HEADINGS = ("## Context", "## Decision", "## What we gave up")


def check_clauses(law: str, tests: str, page: str = LAW) -> Iterator[Violation]:
    """Checks that every numbered clause of a page of law is named by a test."""
    named = set(re.findall(r"\b[A-Z]-\d+\b", tests))
    for match in CLAUSE.finditer(law):
        if match.group(1) not in named:
            line = law.count("\n", 0, match.start()) + 1
            yield Violation(page, line, f"clause {match.group(1)} has no test that names it")


def check_kit(
    law: str, guide: str, kit: dict[str, str], page: str = LAW, guide_file: str = GUIDE
) -> Iterator[Violation]:
    """Checks that the kit has tests of the very clauses that its guide lists, and that all of them are the law's.

    kit: the text of each of its files of tests. page, guide_file: where law and guide are.
    """
    heading, found = "## What is examined", {}
    start = guide.find(heading)
    if start < 0:
        yield Violation(guide_file, 1, f"no part {heading!r}, which lists the clauses that the kit examines")
        return
    listed = {one: guide.count("\n", 0, start) + 1 for one in re.findall(r"\b[A-Z]-\d+\b", guide[start:])}
    for file, text in kit.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in MARKS:
                found |= {one.value: (file, node.lineno) for one in node.args if isinstance(one, ast.Constant)}
    for clause in sorted(set(listed) - set(found)):
        yield Violation(guide_file, listed[clause], f"clause {clause} has no test in the conformance kit")
    for clause in sorted(set(found) - set(listed)):
        yield Violation(*found[clause], f"clause {clause} is examined, and {guide_file} does not list it")
    for clause in sorted(set(found) - set(CLAUSE.findall(law))):
        yield Violation(*found[clause], f"there is no clause {clause} in {page}")


def check_record(file: str, text: str) -> Iterator[Violation]:
    """Checks a decision record's parts."""
    for heading in RECORD_HEADINGS:
        if heading not in text:
            yield Violation(file, 1, f"a decision record needs the part {heading!r}")
