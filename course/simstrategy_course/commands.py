"""The commands `simstrategy learn` and `simstrategy grade`: entry points of the group `simstrategy.commands`.

What they do is imported when they run: the command line lists these commands too.
"""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["grade", "learn"]

_Number = Annotated[int | None, typer.Argument(help="Of the lesson; without it all lessons are listed.")]
_Seed = Annotated[str, typer.Option(help="A student's name or number: data of the file are drawn from it.")]
_Torch = Annotated[bool, typer.Option("--torch", help="Write the exercise in PyTorch alone: lesson_N_torch.py.")]
_Force = Annotated[bool, typer.Option("--force", help="Replace files that are there.")]
_File = Annotated[Path, typer.Argument(metavar="FILE", help="A file that learn wrote; with --csv, a folder of them.")]
_Lesson = Annotated[int | None, typer.Option(help="The number of the lesson, where the file does not name it.")]
_Output = Annotated[Path | None, typer.Option("--output", "-o", help="The page of the difference; default FILE.html.")]
_Json = Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")]
_Csv = Annotated[Path | None, typer.Option("--csv", help="Grade every submission of a folder, and write a table.")]
_Secret = Annotated[str, typer.Option(help="For lecturers: a word that changes the data on which files are graded.")]
_Backends = Annotated[
    str, typer.Option(help="Other backends to run on as well, separated by commas: names, or module:factory.")
]
_Seconds = Annotated[float, typer.Option(help="The time that a submission may take.", min=0.1)]
_Memory = Annotated[int, typer.Option(help="The memory in MB that a submission may take.", min=16)]


def learn(number: _Number = None, seed: _Seed = "", torch: _Torch = False, force: _Force = False) -> None:
    """Lists the lessons, or writes a lesson and its exercise into the current folder.

    lesson_N.md is the text, lesson_N.py the program with holes, and lesson_N_torch.py, with --torch, its exercise in
    PyTorch, where the lesson has one. Files that are there are not replaced.

    Exit code 0: listed or written. 2: not.
    """
    from simstrategy_course.working import learn_lesson  # noqa: PLC0415

    learn_lesson(number, seed, torch=torch, force=force)


def grade(
    file: _File,
    lesson: _Lesson = None,
    output: _Output = None,
    as_json: _Json = False,
    csv: _Csv = None,
    secret: _Secret = "",
    backends: _Backends = "",
    seconds: _Seconds = 10.0,
    memory: _Memory = 1024,
) -> None:
    """Grades an exercise: right, or which wrong idea it is, with a hint and a page that shows the difference.

    The file runs in a process of its own, on data that it does not have.

    Exit code 0: right. 1: not yet. 2: it could not be graded. With --csv, 0 when the table is written.
    """
    from simstrategy_course.working import Graded, grade_file  # noqa: PLC0415

    asked = Graded(file, lesson, output, csv, secret, backends, seconds, memory << 20, as_json)
    code = grade_file(asked)
    if code:
        raise typer.Exit(code)
