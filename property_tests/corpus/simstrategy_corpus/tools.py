"""Tools that can be scored: each returns one answer for one program.

A tool is anything with a name and a method `answer`. Most are command lines, which a TOML file can describe:

    name = "my-checker"
    [commands]                       # one for each launcher that the tool can judge
    torchrun = ["my-checker", "--ranks", "{replicas}", "{file}", "--", "{arguments}"]
    [codes]                          # what exit codes mean; every other one accuses
    passes = [0]
    undecided = [2]
    crashes = [139]

Placeholders: {python}, {file}, {replicas} (of the last run), {all_replicas} (1,2,4), {same_output}. Words of their
own are {arguments} (of the last run), {template} (the arguments with their placeholders) and {vary} (--vary name=1,2
for each).
"""

import sys
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Protocol

from simstrategy_corpus.cases import Case
from simstrategy_corpus.printed import SAME, largest_distance, lines_of
from simstrategy_corpus.processes import Ran, run_command
from simstrategy_corpus.proof import plain_run
from simstrategy_corpus.reading import LAUNCHERS, CorpusError


class Verdict(Enum):
    """What a tool made of a program."""

    PASSES = "passes"
    ACCUSES = "accuses"
    HANGS = "hangs"
    UNDECIDED = "undecided"
    CRASHES = "crashes"
    CANNOT = "cannot run it"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool answers to a program.  text: all that it printed.  seconds: how long it took."""

    verdict: Verdict
    text: str
    seconds: float


class Tool(Protocol):
    """What can be scored."""

    @property
    def name(self) -> str: ...

    def answer(self, case: Case, limit: float) -> Answer:
        """Judges a program within `limit` seconds."""


@dataclass(frozen=True, slots=True)
class CommandTool:
    """A command line for each launcher, and what its exit codes mean.  Every code that is not listed accuses."""

    name: str
    commands: Mapping[str, tuple[str, ...]]
    passes: Collection[int] = (0,)
    undecided: Collection[int] = ()
    crashes: Collection[int] = ()
    settings: Mapping[str, str] = field(default_factory=dict)

    def answer(self, case: Case, limit: float) -> Answer:
        if case.launcher not in self.commands:
            return Answer(Verdict.CANNOT, f"{self.name} has no command for {case.launcher} programs", 0.0)
        command = [word for one in self.commands[case.launcher] for word in _words(one, case)]
        try:
            return self._answer(run_command(command, limit, self.settings))
        except OSError as error:
            return Answer(Verdict.CRASHES, f"{command[0]} cannot be started: {error}", 0.0)

    def _answer(self, ran: Ran) -> Answer:
        meanings = (
            (Verdict.PASSES, self.passes),
            (Verdict.UNDECIDED, self.undecided),
            (Verdict.CRASHES, self.crashes),
        )
        found = next((one for one, codes in meanings if ran.code in codes), Verdict.ACCUSES)
        return Answer(Verdict.HANGS if ran.code is None else found, ran.text, ran.seconds)


@dataclass(frozen=True, slots=True)
class PlainTool:
    """Runs the program once, with the last of its runs: an error is all that it can report."""

    name: str
    settings: Mapping[str, str] = field(default_factory=dict)

    def answer(self, case: Case, limit: float) -> Answer:
        ran = plain_run(case, case.runs[-1], limit, self.settings)
        if ran.code is not None and ran.code < 0:
            return Answer(Verdict.CRASHES, f"{ran.text}\nended by signal {-ran.code}", ran.seconds)
        verdict = Verdict.HANGS if ran.code is None else Verdict.ACCUSES if ran.code else Verdict.PASSES
        return Answer(verdict, ran.text, ran.seconds)


@dataclass(frozen=True, slots=True)
class ComparingTool:
    """Compares what rank 0 prints in `result` lines between the first and the last run, as many test suites do."""

    name: str

    def answer(self, case: Case, limit: float) -> Answer:
        texts, seconds = [], 0.0
        for run in dict.fromkeys((case.runs[0], case.runs[-1])):
            ran = plain_run(case, run, limit)
            seconds += ran.seconds
            if ran.code != 0:
                return Answer(Verdict.HANGS if ran.code is None else Verdict.ACCUSES, ran.text, seconds)
            texts.append(ran.text)
        far = largest_distance([{name: by[0] for name, by in lines_of(one, "result").items()} for one in texts])
        text = f"results differ by {far:.3g}" if far > SAME else "results agree"
        return Answer(Verdict.ACCUSES if far > SAME else Verdict.PASSES, text, seconds)


def built_in() -> dict[str, Tool]:
    """Returns the tools that come with the corpus, by name."""
    script = ("{file}", "{arguments}")
    alone = dict.fromkeys(LAUNCHERS[1:], ("{python}", "{file}", "--replicas", "{replicas}", "{arguments}"))
    torchrun = ("{python}", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "{replicas}", *script)
    threads = ("{python}", "-m", "simstrategy_corpus.thread_ranks")
    checked = ("simstrategy", "check", "{file}", "--replicas", "{all_replicas}")
    as_script = ("--as", "torchrun", "{vary}", "--same-output", "{same_output}", "--", "{template}")
    tools: tuple[Tool, ...] = (
        PlainTool("gloo"),
        PlainTool("gloo-detail", {"TORCH_DISTRIBUTED_DEBUG": "DETAIL"}),
        CommandTool("torchrun", {"torchrun": torchrun, **alone}),
        CommandTool("threads", {"torchrun": (*threads, "{replicas}", *script)}),
        ComparingTool("rank0-compare"),
        CommandTool(
            "simstrategy-torchrun",
            {
                "torchrun": ("simstrategy", "torchrun", "--nproc-per-node", "{replicas}", *script),
                "tensorflow": checked,
            },
            undecided=(2,),
        ),
        CommandTool(
            "simstrategy-check",
            {"torchrun": (*checked, *as_script), "tensorflow": checked, "jax": checked},
            undecided=(2,),
        ),
    )
    return {tool.name: tool for tool in tools}


def tool_of(given: str) -> Tool:
    """Returns the tool of a name, or the one that a TOML file describes.

    Raises `CorpusError`.
    """
    known = built_in()
    if given in known:
        return known[given]
    if not given.endswith(".toml"):
        raise CorpusError(f"no tool is named {given!r}. Give one of {', '.join(known)}, or a TOML file.")
    return _described(Path(given))


def _described(file: Path) -> Tool:
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CorpusError(f"the tool {file} cannot be read: {error}.") from None
    commands, codes = table.get("commands"), table.get("codes", {})
    if not isinstance(table.get("name"), str) or not isinstance(commands, dict) or not commands:
        raise CorpusError(f"{file}: give a name, and [commands] with a command for one of {', '.join(LAUNCHERS)}.")
    for launcher, command in commands.items():
        if launcher not in LAUNCHERS or not _is_list(command, str) or not command:
            raise CorpusError(
                f"{file}: the command of {launcher} is {command!r}. Give a list of words for {', '.join(LAUNCHERS)}."
            )
    if not isinstance(codes, dict) or any(key not in _CODES or not _is_list(codes[key], int) for key in codes):
        raise CorpusError(f"{file}: [codes] is {codes!r}. Give lists of whole numbers for {', '.join(_CODES)}.")
    words = {launcher: tuple(command) for launcher, command in commands.items()}
    passes, undecided, crashes = (tuple(codes.get(key, default)) for key, default in _CODES.items())
    return CommandTool(table["name"], words, passes, undecided, crashes)


_CODES: Mapping[str, tuple[int, ...]] = {"passes": (0,), "undecided": (), "crashes": ()}


def _is_list(value: object, of: type) -> bool:
    return isinstance(value, list) and all(type(one) is of for one in value)


def _words(word: str, case: Case) -> Iterator[str]:
    """Yields what stands for one word of a command."""
    last = case.runs[-1]
    several = {
        "{arguments}": last.arguments,
        "{template}": case.template,
        "{vary}": tuple(
            part for name, values in case.vary.items() for part in ("--vary", f"{name}={','.join(map(str, values))}")
        ),
    }
    if word in several:
        yield from several[word]
        return
    single = {
        "{python}": sys.executable,
        "{file}": str(case.file),
        "{replicas}": str(last.replicas),
        "{all_replicas}": ",".join(map(str, case.replicas)),
        "{same_output}": case.same_output,
    }
    for placeholder, value in single.items():
        word = word.replace(placeholder, value)
    yield word
