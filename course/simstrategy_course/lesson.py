"""What a lesson is, as data: its files, its runs, what has to hold in them, and the known wrong answers.

Nothing here reads a file or runs a program.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple, final

from simstrategy.errors import InvalidArgument

__all__ = [
    "SIMULATOR",
    "CourseError",
    "Lesson",
    "Question",
    "Rule",
    "Setting",
    "TorchPart",
    "WrongAnswer",
    "counted",
    "printable",
]


SIMULATOR: Final = "sim"
"""The backend that is always here."""


@final
class CourseError(InvalidArgument):
    """A file of the course, or a request to it, that cannot be used."""


class Setting(NamedTuple):
    """How one run is made.  replicas: of each worker. The texts are those of `simstrategy run`."""

    replicas: int
    workers: int = 1
    order: str = "linear"
    schedule: str = "in-order"
    semantics: str = "TF2"
    backend: str = "sim"

    def __str__(self) -> str:
        where = counted(self.replicas, "replica")
        text = where if self.workers == 1 else f"{self.workers} workers of {where}"
        text += "" if self.order == "linear" else f", order {self.order}"
        text += "" if self.schedule == "in-order" else f", schedule {self.schedule}"
        return text + ("" if self.backend == SIMULATOR else f", on {self.backend}")

    @property
    def ranks(self) -> int:
        """The number of replicas of all workers."""
        return self.replicas * self.workers


class Rule(NamedTuple):
    """What has to hold of the synchronisation points of every run of several replicas.

    kinds, op: which points are counted; None for every op. least, most: how many there may be; None for no limit. hint:
    for an answer that breaks the rule.
    """

    name: str
    kinds: tuple[str, ...]
    op: str | None
    least: int | None
    most: int | None
    hint: str


class WrongAnswer(NamedTuple):
    """A known wrong answer.  changes: texts of the solution, each with the text in its place."""

    name: str
    changes: tuple[tuple[str, str], ...]
    hint: str


class Question(NamedTuple):
    """A question of the text, by its name.  hint: for another answer."""

    name: str
    answer: str
    hint: str


class TorchPart(NamedTuple):
    """The exercise of a lesson in PyTorch, which gives what the lesson's solution gives on the same data.

    functions: names of what a student writes. ranks: the numbers of ranks that it runs on. names: of a result in the
    solution's runs, made of `{name}`, that of a result here, and `{rank}`.
    """

    functions: tuple[str, ...]
    ranks: tuple[int, ...]
    names: str


class Lesson(NamedTuple):
    """One lesson.

    folder: with lesson.md, solution.py and grader.toml. functions: names of what a student writes; the rest of the
    solution calls them. same_bits: whether all runs must give the same bits. general: the hint for an answer that
    nothing recognises. alone: what is right with one replica, in words. torch: the exercise in PyTorch, if it has one.
    """

    number: int
    folder: Path
    title: str
    minutes: int
    clauses: tuple[str, ...]
    functions: tuple[str, ...]
    settings: tuple[Setting, ...]
    rules: tuple[Rule, ...]
    wrong: tuple[WrongAnswer, ...]
    questions: tuple[Question, ...]
    same_bits: bool
    general: str
    alone: str
    torch: TorchPart | None = None

    @property
    def in_torch(self) -> "Lesson":
        """The lesson with the exercise in PyTorch in place of its own.  Raises CourseError where it has none."""
        if self.torch is None:
            raise CourseError(f"Lesson {self.number} has no exercise in PyTorch. Leave --torch, or the line PART, out.")
        settings = tuple(Setting(ranks) for ranks in self.torch.ranks)
        title = f"{self.title} (in PyTorch)"
        return self._replace(title=title, functions=self.torch.functions, settings=settings, rules=(), questions=())

    def on(self, backends: Sequence[str]) -> "Lesson":
        """Returns the lesson with its plain runs on other backends as well, by their names."""
        plain = [one for one in self.settings if one == Setting(one.replicas, semantics=one.semantics)]
        more = [one._replace(backend=name) for name in backends for one in plain]
        return self._replace(settings=(*self.settings, *more))

    @property
    def solution(self) -> str:
        """The text of the reference solution."""
        return (self.folder / "solution.py").read_text(encoding="utf-8")

    @property
    def torch_solution(self) -> str:
        """The text of the reference solution in PyTorch."""
        return (self.folder / "torch_solution.py").read_text(encoding="utf-8")

    @property
    def text(self) -> str:
        """The text of the lesson, as MyST Markdown."""
        return (self.folder / "lesson.md").read_text(encoding="utf-8")

    def changed(self, wrong: WrongAnswer) -> str:
        """Returns the solution with a known wrong answer in it.  Raises CourseError where it has no place."""
        text = self.solution
        for old, new in wrong.changes:
            if text.count(old) != 1:
                raise CourseError(
                    f"{self.folder}: {wrong.name!r} replaces {old!r}, which is there {text.count(old)} times."
                )
            text = text.replace(old, new)
        return text


def printable(text: str, most: int) -> str:
    r"""Returns a text of a stranger as it may be shown on a terminal: its lines, without control characters.

    most: how many characters are kept.

    >>> printable("red \x1b[31m text", 9)
    'red ?[31m'
    """
    return "".join(one if one.isprintable() or one == "\n" else "?" for one in text[:most])


def counted(count: int, noun: str) -> str:
    """Returns a number with its noun.

    >>> counted(1, "replica"), counted(3, "replica")
    ('1 replica', '3 replicas')
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"
