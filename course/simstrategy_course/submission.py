"""A student's file as text: its lesson, its seed, its answers, its functions.  Nothing here executes it."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from simstrategy_course.holes import open_holes
from simstrategy_course.lesson import CourseError, Lesson, printable
from simstrategy_course.reading import lesson_numbered

__all__ = ["Submission", "read_submission", "submission_of"]

_BYTES_MAX: Final = 256_000
_SEED_MAX: Final = 80
_NUMBER_MAX: Final = 10**12


class Submission(NamedTuple):
    """name: of the file. answers: by the name of the question, as text. holes: lines that are still to be written.

    missing: names of functions of the lesson that the file has not. unread: lines of answers that cannot be read, by
    the name of the question. in_torch: whether it is the exercise in PyTorch.
    """

    name: str
    text: str
    lesson: Lesson
    seed: str
    answers: Mapping[str, str]
    holes: tuple[int, ...]
    missing: tuple[str, ...]
    unread: Mapping[str, int]
    in_torch: bool = False


def read_submission(file: Path, number: int | None = None) -> Submission:
    """Returns a student's file.  number: of the lesson; None for the one that the file names.

    Raises CourseError for a file that is missing, too large, no text, or no Python.
    """
    if file.is_dir():
        raise CourseError(f"{str(file)!r} is a folder. Add --csv points.csv to grade each submission in it.")
    if not file.is_file():
        raise CourseError(
            f"There is no file {str(file)!r}. Write one with `simstrategy learn NUMBER`, and fill its holes."
        )
    if file.stat().st_size > _BYTES_MAX:
        raise CourseError(f"{file.name} has more than {_BYTES_MAX // 1000} KB. Hand in the file of the lesson alone.")
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"{file.name} cannot be read as text: {error}. Save it as UTF-8.") from error
    return submission_of(text, file.name, number)


def submission_of(text: str, name: str, number: int | None = None) -> Submission:
    """Returns a student's file from its text.  Raises CourseError for what is no Python, and for an unknown lesson."""
    if not text.strip():
        raise CourseError(f"{name} is empty. Hand in the file that `simstrategy learn NUMBER` wrote, its holes filled.")
    try:
        tree = ast.parse(text, name)
    except SyntaxError as error:
        place = f"{name}:{error.lineno}" if error.lineno else name
        raise CourseError(f"{place}: this is no Python: {error.msg}. Correct this line first.") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise CourseError(f"{name}: this is no Python that can be read: {error}.") from error
    values = _values(tree)
    lesson, in_torch = (
        lesson_numbered(_number(values, name) if number is None else number),
        values.get("PART") == "pytorch",
    )
    lesson = lesson.in_torch if in_torch else lesson
    defined = set(_defined(tree))
    answers, unread = _answers(tree)
    missing = tuple(one for one in lesson.functions if one not in defined)
    seed, holes = _seed(values.get("SEED")), tuple(open_holes(tree))
    return Submission(name, text, lesson, seed, answers, holes, missing, unread, in_torch)


def _seed(given: object) -> str:
    """Returns a student's name as it is shown and drawn from; "" for what is no text."""
    return printable(given, _SEED_MAX).replace("\n", " ") if isinstance(given, str) else ""


def _defined(tree: ast.Module) -> Iterator[str]:
    """Yields the names that a file defines at its top: functions, what is assigned, what is imported."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (one.id for target in node.targets for one in ast.walk(target) if isinstance(one, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            yield node.target.id
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (one.asname or one.name for one in node.names)


def _answers(tree: ast.Module) -> tuple[dict[str, str], dict[str, int]]:
    """Returns the answers of a file by the names of the questions, and the lines of those that cannot be read."""
    answers: dict[str, str] = {}
    unread: dict[str, int] = {}
    given = [value for name, value in _assigned(tree) if name == "ANSWERS" and isinstance(value, ast.Dict)]
    for key, node in zip(given[-1].keys, given[-1].values, strict=True) if given else ():
        if not isinstance(key, ast.Constant):
            continue
        question = _answer(key.value)
        try:
            value = ast.literal_eval(node)
        except (ValueError, TypeError, RecursionError, MemoryError, SyntaxError):
            unread[question] = node.lineno
            continue
        if isinstance(value, str | int | float):
            answers[question] = _answer(value)
        elif value is not None and value is not Ellipsis:
            unread[question] = node.lineno
    return answers, unread


def _assigned(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Yields what a file assigns to single names at its top."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value


def _values(tree: ast.Module) -> dict[str, Any]:
    """Returns the literals that a file assigns to names at its top."""
    found: dict[str, Any] = {}
    for name, value in _assigned(tree):
        try:
            found[name] = ast.literal_eval(value)
        except (ValueError, TypeError, RecursionError, MemoryError, SyntaxError):
            continue  # an expression, which is not read
    return found


def _number(values: Mapping[str, Any], name: str) -> int:
    number = values.get("LESSON")
    if not isinstance(number, int) or isinstance(number, bool) or abs(number) > _NUMBER_MAX:
        raise CourseError(f"{name} does not name its lesson. Keep the line LESSON = …, or pass --lesson NUMBER.")
    return number


def _answer(value: object) -> str:
    """Returns an answer as it is compared: numbers without a useless fraction, texts in lower case, "c)" as "c"."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and abs(value) > _NUMBER_MAX:
        raise CourseError("An answer is a number of too many digits. Write the number that the question needs.")
    return str(value).strip().lstrip("( ").rstrip(" ).:").lower()
