"""A broken rule and where; which files are shipped, and which are tests."""

import re
from typing import NamedTuple

_SHIPPED = re.compile(
    r"(?:simstrategy|backends/\w+/simstrategy_\w+|property_tests/(?:simstrategy_conformance"
    r"|pytest_plugin/simstrategy_pytest|corpus/simstrategy_corpus(?!/programs))"
    r"|course/simstrategy_course(?!/lessons))/"
)
_CLAUSES = re.compile(r"property_tests/simstrategy_conformance/(?:c10d/)?clauses/")


class Violation(NamedTuple):
    """One broken rule, and where. file: relative to the repository."""

    file: str
    line: int
    rule: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.rule}"


def is_test(file: str) -> bool:
    """Returns whether a file holds tests, or serves them."""
    *folders, name = file.split("/")
    return "tests" in folders or name.startswith("test_")


def is_shipped(file: str) -> bool:
    """Returns whether a file is part of a distribution."""
    return _SHIPPED.match(file) is not None


def is_examination(file: str) -> bool:
    """Returns whether a file holds the kit's own tests: shipped, and written like tests."""
    return _CLAUSES.match(file) is not None
