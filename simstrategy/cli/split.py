"""`simstrategy split`: which worker and replica gets which elements, under each policy."""

import json
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Table

from simstrategy.cli.ending import clear_errors
from simstrategy.cli.options import semantics_named
from simstrategy.cli.texts import wide_console, words
from simstrategy.data import AutoShardPolicy, Dataset, DatasetRules, SplitRule
from simstrategy.data.options import SHARD_HINT
from simstrategy.data.split_preview import SplitPreview, numbered_lines, split_preview
from simstrategy.errors import InvalidArgument

__all__ = ["split"]

_READS: Final = {
    "nothing": "every worker reads all elements",
    "files": "each worker reads some of the files",
    "elements": "each worker reads some of the elements",
    "hint": "each worker reads what SHARD_HINT selects",
}
"""What `SplitPreview.by` means for the workers."""


def split(
    total: Annotated[int, typer.Option(help="How many elements the dataset has: 0, 1, 2, …", min=0)] = 10,
    files: Annotated[str, typer.Option(help="In place of --total: lines of each text file, as in 3,5,2.")] = "",
    batch: Annotated[int, typer.Option(help="The global batch size.", min=1)] = 4,
    drop_remainder: Annotated[bool, typer.Option("--drop-remainder", help="Drop a short last batch.")] = False,
    repeat: Annotated[int, typer.Option(help="How often the elements are repeated before batching.", min=1)] = 1,
    repeat_batches: Annotated[int, typer.Option(help="The same, after batching.", min=1)] = 1,
    mapped: Annotated[bool, typer.Option("--map", help="Map a function over the batches: hides their size.")] = False,
    workers: Annotated[int, typer.Option(help="Workers.", min=1)] = 1,
    replicas: Annotated[int, typer.Option(help="Replicas of each worker.", min=1)] = 2,
    policy: Annotated[str, typer.Option(help="OFF, AUTO, FILE, DATA, HINT, several of them, or all.")] = "all",
    rule: Annotated[str, typer.Option(help="per-batch or stream; default: what the profile takes.")] = "",
    semantics: Annotated[str, typer.Option(help="TF1_13, TF1_15 or TF2.")] = "TF1_15",
    first: Annotated[int, typer.Option(help="How many steps to print.", min=0)] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show which worker and replica gets which elements, under each policy, with warnings."""
    with clear_errors():
        profile = semantics_named(semantics)
        rules = DatasetRules(SplitRule(profile.dataset_split), profile.too_few_files)
        answers: dict[str, SplitPreview | str] = {}
        for one in _policies(policy):
            elements = numbered_lines(_counts(files)) if files else Dataset.range(total)
            if one is AutoShardPolicy.HINT:
                elements = elements.shard(SHARD_HINT, 0)
            dataset = elements.repeat(repeat).batch(batch, drop_remainder=drop_remainder).repeat(repeat_batches)
            dataset = dataset.map(lambda batch: batch) if mapped else dataset
            try:
                answers[one.name] = split_preview(
                    dataset, one, rules, workers=workers, replicas=replicas, rule=_rule(rule)
                )
            except InvalidArgument as error:
                answers[one.name] = str(error)
    if as_json:
        typer.echo(json.dumps({name: _plain(answer) for name, answer in answers.items()}, indent=1))
        return
    console = wide_console()
    source = f"files of {files} lines" if files else f"{total} elements"
    console.print(f"{source}, batches of {batch}, {workers} × {replicas} replicas, {profile.name}\n", highlight=False)
    for names, answer in _alike(answers):
        _show(console, ", ".join(names), answer, replicas, first)


def _policies(text: str) -> list[AutoShardPolicy]:
    names = [policy.name for policy in AutoShardPolicy] if text.lower() == "all" else [w.upper() for w in words(text)]
    unknown = [name for name in names if name not in AutoShardPolicy.__members__]
    if unknown or not names:
        raise typer.BadParameter(
            f"{text!r} is not a policy: choose from {', '.join(AutoShardPolicy.__members__)}, or all"
        )
    return [AutoShardPolicy[name] for name in names]


def _rule(text: str) -> SplitRule | None:
    known = {rule.value.replace(" ", "-"): rule for rule in SplitRule}
    if text and text not in known:
        raise typer.BadParameter(f"{text!r} is not a rule: choose from {', '.join(known)}")
    return known.get(text)


def _counts(text: str) -> list[int]:
    if not all(word.isdecimal() for word in words(text)):
        raise typer.BadParameter(f"{text!r} is not a list of numbers of lines such as 3,5,2")
    return [int(word) for word in words(text)]


def _plain(answer: SplitPreview | str) -> dict[str, Any]:
    return {"error": answer} if isinstance(answer, str) else answer._asdict()


def _alike(answers: dict[str, SplitPreview | str]) -> list[tuple[list[str], SplitPreview | str]]:
    """Returns the answers with the names of the policies that have them, so that none is shown twice."""
    found: list[tuple[list[str], SplitPreview | str]] = []
    for name, answer in answers.items():
        names = next((names for names, other in found if other == answer), None)
        if names is None:
            found.append(([name], answer))
        else:
            names.append(name)
    return found


def _usage(answer: SplitPreview) -> str:
    """Returns how many elements the replicas use, and how many come more often than in the dataset."""
    used = answer.elements - len(answer.lost)
    share = f"all {used}" if used == answer.elements else f"{used} of {answer.elements}"
    again = "none twice" if not answer.twice else f"with {len(answer.twice)} repetitions"
    return f"{share} elements are used, {again}"


def _show(console: Console, names: str, answer: SplitPreview | str, replicas: int, first: int) -> None:
    if isinstance(answer, str):
        console.print(f"[bold]{names}[/bold] is refused", highlight=False)
        console.print(f"  {answer}\n", style="red", markup=False, highlight=False)
        return
    title = f"[bold]{names}[/bold]: {_READS[answer.by]}; batches are split by the rule {answer.rule!r}"
    console.print(title, highlight=False)
    table = Table(box=None, header_style="dim", pad_edge=True)
    table.add_column("step", justify="right")
    for number in range(len(answer.steps[0]) if answer.steps else 0):
        table.add_column(f"worker {number // replicas} replica {number % replicas}")
    for number, step in enumerate(answer.steps[:first]):
        table.add_row(str(number), *(" ".join(part) or "-" for part in step))
    console.print(table)
    if len(answer.steps) > first:
        console.print(f"  … and {len(answer.steps) - first} more steps", highlight=False)
    console.print(f"  {_usage(answer)}", highlight=False)
    for text in answer.warnings:
        console.print(f"  ! {text}", style="yellow", markup=False, highlight=False)
    console.print()
