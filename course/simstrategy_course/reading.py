"""Reads the lessons of this distribution.  What is wrong with a grader.toml is an error with the file and the key."""

import itertools
import tomllib
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from simstrategy_course.lesson import CourseError, Lesson, Question, Rule, Setting, TorchPart, WrongAnswer

__all__ = ["LESSONS", "lesson_numbered", "lessons", "read_lesson"]

LESSONS: Final = Path(__file__).parent / "lessons"

_OF_LESSON: Final = frozenset(
    {
        "number",
        "title",
        "minutes",
        "clauses",
        "functions",
        "same_bits",
        "general",
        "alone",
        "runs",
        "rule",
        "wrong",
        "question",
        "pytorch",
    }
)
_OF_RUNS: Final = {
    "replicas": [2],
    "workers": [1],
    "order": ["linear"],
    "schedule": ["in-order"],
    "semantics": ["TF2"],
}
"""What a table of runs may have, and what stands for what it leaves out."""
_OF_RULE: Final = frozenset({"name", "kind", "op", "least", "most", "hint"})
_OF_WRONG: Final = frozenset({"name", "old", "new", "changes", "hint"})
_OF_TORCH: Final = frozenset({"functions", "ranks", "names"})
_OF_QUESTION: Final = frozenset({"name", "answer", "hint"})


@cache
def lessons() -> tuple[Lesson, ...]:
    """Returns all lessons in the order of their numbers."""
    folders = sorted(one for one in LESSONS.iterdir() if (one / "grader.toml").is_file())
    return tuple(sorted(map(read_lesson, folders), key=lambda one: one.number))


def lesson_numbered(number: int) -> Lesson:
    """Returns a lesson.  Raises CourseError for a number that none has."""
    found = next((one for one in lessons() if one.number == number), None)
    if found is None:
        numbers = ", ".join(str(one.number) for one in lessons())
        raise CourseError(f"There is no lesson {number}. Choose one of {numbers}; `simstrategy learn` lists them.")
    return found


def read_lesson(folder: Path) -> Lesson:
    """Returns the lesson of a folder.  Raises CourseError for a grader.toml that is not as described here."""
    file = folder / "grader.toml"
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
        _require(file, table, _OF_LESSON)
        return Lesson(
            number=int(table["number"]),
            folder=folder,
            title=str(table["title"]),
            minutes=int(table["minutes"]),
            clauses=tuple(table["clauses"]),
            functions=tuple(table["functions"]),
            settings=tuple(one for runs in table["runs"] for one in _settings(file, runs)),
            rules=tuple(_rule(file, one) for one in table.get("rule", [])),
            wrong=tuple(_wrong(file, one) for one in table["wrong"]),
            questions=tuple(_question(file, one) for one in table["question"]),
            same_bits=bool(table.get("same_bits", False)),
            general=_text(table["general"]),
            alone=_text(table["alone"]),
            torch=_torch(file, table["pytorch"]) if "pytorch" in table else None,
        )
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise CourseError(f"{file} cannot be read: {error}.") from error
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, CourseError):
            raise
        raise CourseError(f"{file}: {error} is missing or has another form. See ARCHITECTURE.md.") from error


def _require(file: Path, table: Mapping[str, Any], keys: Collection[str]) -> None:
    unknown = sorted(set(table) - set(keys))
    if unknown:
        raise CourseError(f"{file}: {', '.join(unknown)} is no key here. Use {', '.join(sorted(keys))}.")


def _settings(file: Path, runs: Mapping[str, Any]) -> Iterator[Setting]:
    """Yields every combination of what a table of runs lists."""
    _require(file, runs, _OF_RUNS)
    lists = [runs.get(name, default) for name, default in _OF_RUNS.items()]
    for values in itertools.product(*lists):
        yield Setting(**dict(zip(_OF_RUNS, values, strict=True)))


def _rule(file: Path, table: Mapping[str, Any]) -> Rule:
    _require(file, table, _OF_RULE)
    limits = table.get("op"), table.get("least"), table.get("most")
    kinds = table["kind"] if isinstance(table["kind"], list) else [table["kind"]]
    return Rule(str(table["name"]), tuple(map(str, kinds)), *limits, _text(table["hint"]))


def _wrong(file: Path, table: Mapping[str, Any]) -> WrongAnswer:
    _require(file, table, _OF_WRONG)
    changes = table["changes"] if "changes" in table else [[table["old"], table["new"]]]
    return WrongAnswer(str(table["name"]), tuple((str(old), str(new)) for old, new in changes), _text(table["hint"]))


def _question(file: Path, table: Mapping[str, Any]) -> Question:
    _require(file, table, _OF_QUESTION)
    return Question(str(table["name"]), str(table["answer"]), _text(table["hint"]))


def _torch(file: Path, table: Mapping[str, Any]) -> TorchPart:
    _require(file, table, _OF_TORCH)
    return TorchPart(tuple(table["functions"]), tuple(table["ranks"]), str(table["names"]))


def _text(value: object) -> str:
    """Returns a text of TOML in one line."""
    return " ".join(str(value).split())
