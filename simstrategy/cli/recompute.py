"""`simstrategy recompute FILE`: computes the synchronisation points of a recording again, from the file alone."""

import hashlib
from pathlib import Path
from typing import Annotated

import typer

from simstrategy.check.recompute import recompute as computed_again
from simstrategy.cli.ending import clear_errors
from simstrategy.cli.texts import wide_console
from simstrategy.errors import InvalidArgument
from simstrategy.trace import Recording, read

__all__ = ["recompute"]


def recompute(
    file: Annotated[Path, typer.Argument(help="A recording, as simstrategy run --record writes it.")],
    program: Annotated[Path | None, typer.Option(help="The program that was recorded: is it still the same?")] = None,
) -> None:
    """Compute the synchronisation points of a recording again, and compare to the bit.

    Exit code 0: all that were computed are equal, and the recording is whole. 1: one differs. 2: not judged.
    """
    console = wide_console()
    with clear_errors():
        recording = read(file)
        problems = [] if program is None else _other_source(recording, program)
    if not recording.complete:
        problems.append(f"{file} has no end: the run was killed, or it still runs. Its points so far were computed.")
    found = computed_again(recording)
    for line in found.different:
        console.print(f"DIFFERS: {line}", markup=False, highlight=False)
    for reason, count in sorted(found.left.items()):
        console.print(f"{count} not computed: {reason}", markup=False, highlight=False)
    for problem in problems:
        console.print(f"not judged: {problem}", markup=False, highlight=False)
    if not found.equal and not found.different:
        problems.append("nothing")
    points = f"{found.equal} of {len(recording.points)} synchronisation points"
    console.print(
        f"{points} computed again and equal to the bit, {len(found.different)} differ; order of additions: "
        f"{found.order}",
        markup=False,
        highlight=False,
    )
    if found.different or problems:
        raise typer.Exit(1 if found.different else 2)


def _other_source(recording: Recording, program: Path) -> list[str]:
    """Returns how a program differs from the one that was recorded.  Raises InvalidArgument where it cannot be read."""
    source = recording.header.get("source") or {}
    try:
        digest = hashlib.sha256(program.read_bytes()).hexdigest()
    except OSError as error:
        raise InvalidArgument(
            f"--program: {program} cannot be read: {error.strerror}. Give the program's file."
        ) from error
    if "sha256" not in source:
        return [f"the recording does not state its program, so {program} may be another."]
    if digest == source["sha256"]:
        return []
    return [
        f"{program} is not the program that was recorded, {source['file']}: its SHA-256 is another. Record it again."
    ]
