"""What is put into a page when it is read: anchors of clauses, the commands, the lessons.  No file is changed."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import typer
from typer.cli import get_docs_for_click

from simstrategy.cli.app import app_for

__all__ = ["CLAUSE", "commands", "course", "with_anchors"]

CLAUSE = re.compile(r"^\*\*([A-Z]-\d+)\*\* (.*?)(?=\n\n|\n*\Z)", re.MULTILINE | re.DOTALL)
_EXAMPLE = re.compile(r"^### (.+)$", re.MULTILINE)


def with_anchors(law: str, examples: Mapping[str, str]) -> str:
    """Returns the law with an anchor for each clause, and with links to those of its examples that there are.

    examples: the texts of the pages of examples, whose headings are clauses, by the names of their files.
    """
    places = {
        clause: f"{name}#{_slug(heading)}"
        for name, text in examples.items()
        for heading in _EXAMPLE.findall(text)
        for clause in heading.split(", ")
    }

    def anchored(found: re.Match[str]) -> str:
        clause, text = found.groups()
        link = f" [Example]({places[clause]})." if clause in places else ""
        return f"({clause.lower()})=\n**{clause}** {text}{link}"

    return CLAUSE.sub(anchored, law)


def _slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def commands() -> str:
    """Returns the reference of all commands in Markdown, from the same text as `--help`."""
    group = _group([])
    group.commands |= {name: _group([name]).commands[name] for name in group.commands}
    with typer.Context(group, info_name="simstrategy") as context:
        text = get_docs_for_click(obj=group, ctx=context, name="simstrategy")
    _, first, rest = text.partition("\n## ")
    return first.lstrip() + rest


def _group(arguments: Sequence[str]) -> typer.core.TyperGroup:
    """Returns the command line for these arguments; of a command that they do not name it has one line alone."""
    found = typer.main.get_command(app_for(arguments))
    assert isinstance(found, typer.core.TyperGroup)
    return found


def course(root: Path, pages: Sequence[Path]) -> str:
    """Returns the part of the table of contents that has the course's pages; "" where there are none."""
    if not pages:
        return ""
    names = [f"/{page.relative_to(root).with_suffix('').as_posix()}" for page in pages]
    return "\n".join(["```{toctree}", ":caption: Course", ":maxdepth: 1", "", *names, "```"])
