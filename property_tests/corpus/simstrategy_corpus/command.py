"""The command line: simstrategy-corpus list, prove, score, table."""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from simstrategy_corpus.cases import PROGRAMS, Bug, Healthy
from simstrategy_corpus.proof import NotProven, prove, prove_healthy
from simstrategy_corpus.reading import CorpusError, bugs, healthy
from simstrategy_corpus.score import Row, as_data, from_data, markdown, score_bug, score_healthy, table
from simstrategy_corpus.tools import built_in, tool_of

Result = TypeVar("Result")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code: 0, 1 where something is not as it should be, 2 for a wrong call."""
    given = _parser().parse_args(arguments)
    commands: dict[str, Callable[[argparse.Namespace], int]] = {
        "list": _list,
        "prove": _prove,
        "score": _score,
        "table": _table,
    }
    try:
        return commands[given.command](given)
    except CorpusError as error:
        print(f"simstrategy-corpus: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="simstrategy-corpus", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("list", "lists the bugs and the healthy programs"),
        ("prove", "shows by plain runs that each wrong program is wrong and each right one right"),
        ("score", "runs a tool over the corpus and prints what it finds"),
    ):
        command = commands.add_parser(name, help=text, description=f"simstrategy-corpus {name} {text}.")
        command.add_argument("names", nargs="*", help="folders of the corpus; all where none is given")
        command.add_argument("--corpus", type=Path, default=PROGRAMS, help="a folder with bugs/ and healthy/")
        if name == "score":
            command.add_argument("--tool", required=True, help=f"{', '.join(built_in())}, or a TOML file")
            command.add_argument("--seconds", type=float, default=60.0, help="the limit for each program")
            command.add_argument("--json", type=Path, help="a file for the rows")
        if name != "list":
            command.add_argument("--jobs", type=int, default=1, help="programs at a time")
    text = "prints scores that were written with score --json as a table in Markdown"
    table_of = commands.add_parser("table", help=text, description=f"simstrategy-corpus table {text}.")
    table_of.add_argument("files", nargs="+", type=Path, help="files with scores")
    return parser


def _chosen(given: argparse.Namespace) -> list[Bug | Healthy]:
    every: list[Bug | Healthy] = [*bugs(given.corpus), *healthy(given.corpus)]
    unknown = set(given.names) - {one.name for one in every}
    if unknown:
        raise CorpusError(
            f"no folder of the corpus is named {', '.join(sorted(unknown))}. See simstrategy-corpus list."
        )
    return [one for one in every if not given.names or one.name in given.names]


def _list(given: argparse.Namespace) -> int:
    for one in _chosen(given):
        if isinstance(one, Bug):
            print(f"{one.name:28} {one.kind:17} {', '.join(one.laws):20} {one.source}")
        else:
            print(f"{one.name:28} {'suspicious' if one.suspicious else 'healthy':17} {one.why}")
    return 0


def _prove(given: argparse.Namespace) -> int:
    proven = list(_side_by_side(given, _proven))
    print(f"{len(proven)} folders, {proven.count(False)} not proven")
    return int(not all(proven))


def _proven(one: Bug | Healthy) -> bool:
    """Prints what comes of a proof as soon as it has ended."""
    try:
        print(f"{one.name:28} {prove(one) if isinstance(one, Bug) else prove_healthy(one.case)}", flush=True)
    except NotProven as error:
        print(f"{one.name:28} NOT PROVEN: {error}", flush=True)
        return False
    return True


def _score(given: argparse.Namespace) -> int:
    tool = tool_of(given.tool)

    def scored(one: Bug | Healthy) -> Row:
        row = score_bug(tool, one, given.seconds) if isinstance(one, Bug) else score_healthy(tool, one, given.seconds)
        print(f"{row.name}: {row.wrong or row.right}", file=sys.stderr, flush=True)
        return row

    rows = list(_side_by_side(given, scored))
    print(table(tool.name, rows))
    if given.json is not None:
        given.json.write_text(json.dumps(as_data(tool.name, rows), indent=1) + "\n", encoding="utf-8")
    return 0


def _table(given: argparse.Namespace) -> int:
    print(markdown([_read(file) for file in given.files]))
    return 0


def _read(file: Path) -> tuple[str, list[Row]]:
    try:
        return from_data(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise CorpusError(f"the score {file} cannot be read: {error}.") from None


def _side_by_side(given: argparse.Namespace, function: Callable[[Bug | Healthy], Result]) -> Iterator[Result]:
    """Yields a function's results in the corpus's order, `--jobs` at a time."""
    with ThreadPoolExecutor(max(1, given.jobs)) as pool:
        yield from pool.map(function, _chosen(given))


if __name__ == "__main__":
    sys.exit(main())
