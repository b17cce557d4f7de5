"""What is wrong with what became of a program: sides that differ, silence, accusations, hangs; and what is excused.

A value may be rounded otherwise. Messages are compared but for the names of backends and places, and those of
frameworks not at all: one error of a framework is as good as another. Runs nothing.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from misuse import FOLDER, Form, Misuse, Piece, Program, piece
from misuse_side import values
from misuse_workers import Seen
from sides import rounded

from simstrategy_conformance.observe import difference

__all__ = ["REFERENCES", "Finding", "Known", "findings", "known_ones", "pieces_of", "verdict"]

REFERENCES = {
    "sim again": "sim",
    "sim threads": "sim",
    "cluster": "sim",
    "torch": "sim",
    "tensorflow": "sim",
    "xla": "sim",
    "gloo": "cluster",
}
"""With which side each is compared."""
_ADDRESS = re.compile(r"0x[0-9a-f]{5,}")
_PLACES = (
    (re.compile(r"There is no dtype ('[^']*')[^;]*;"), r"There is no dtype \1;"),
    (re.compile(r"choose from [^.]*\."), "choose from OTHERS."),
    (re.compile(r", on [\w:/, ]+>"), ", on PLACES>"),
    (re.compile(r"<Strategy on '\w+': (\d+) replicas, \d+ here>"), r"<Strategy: \1 replicas>"),
    (re.compile(r"'(?:sim|torch|tensorflow|xla|gloo)'"), "'BACKEND'"),
    (re.compile(r"\b(?:sim|torch|xla|gloo|/?cpu|/device:CPU|CPU|TFRT_CPU_\d+)(?:[:/]\d+)+"), "PLACE"),
    (re.compile(r"\bThread-\d+"), "Thread-N"),  # Python counts the threads of a process
    (re.compile(r"\b(?:SimArray|Tensor|EagerTensor|ArrayImpl|Array)\b"), "ARRAY"),
)

_BY_CLASS = ("RecursionError",)
"""Errors that are compared by their class alone: where the limit is reached is chance."""
_BY_CLASS_OF_PROCESSES = (*_BY_CLASS, "PeerFailed", "ReplicasBlocked")
"""The same between workers: what a transport has noticed, and which threads a process has, is its own."""


class Finding(NamedTuple):
    """One thing that is wrong.  kind: differs, silence, accusation, other error, hang, address, blame."""

    kind: str
    side: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind} on {self.side}: {self.text}"


class Known(NamedTuple):
    """A finding that is excused, why, and a program that shows it.

    kinds, sides: of the finding. shows: a regular expression for its text. within: names of fragments one of which has
    to be there, "*" for any; without it, all of those of the program.
    """

    name: str
    clause: str
    reason: str
    kinds: tuple[str, ...]
    sides: tuple[str, ...]
    shows: str
    program: Program
    within: tuple[str, ...]

    def covers(self, program: Program, finding: Finding) -> bool:
        """Returns whether a finding is this one."""
        if finding.kind not in self.kinds or finding.side not in self.sides:
            return False
        names = set(program.names)
        is_here = not names.isdisjoint(self.within) if self.within else set(self.program.names) <= names
        is_here = is_here or "*" in self.within
        return is_here and re.search(self.shows, finding.text, re.DOTALL) is not None


def findings(program: Program, seen: Mapping[str, Seen]) -> list[Finding]:
    """Returns everything that is wrong with what became of a program on some sides."""
    expects, error = program.expected()
    return judged(seen, expects, error, shares=program.shares, process=program.process)


def judged(
    seen: Mapping[str, Seen], expects: str, error: str, *, shares: bool = False, process: bool = False
) -> list[Finding]:
    """Returns what is wrong where a program has to return, or to be refused with an error of this class.

    shares, process: whether it depends on which replicas are in one process, and on state of the process.
    """
    found: list[Finding] = []
    for side, one in seen.items():
        if one.stopped:
            found.append(Finding("hang", side, one.stopped))
            continue
        found += _against(side, one, expects, error)
        found += _texts(side, one)
        reference = seen.get(REFERENCES.get(side, ""))
        # Simulated workers share their process, and real ones do not.
        is_comparable = not (process and side == "gloo") and not ((shares or process) and side == "cluster")
        if reference is not None and not reference.stopped and is_comparable:
            unlike = next(_unlike(REFERENCES[side], reference, side, one), None)
            found += [] if unlike is None else [Finding("differs", side, unlike)]
    return found


def _against(side: str, one: Seen, expects: str, error: str) -> Iterator[Finding]:
    if expects == "refused" and one.error is None:
        yield Finding("silence", side, f"a value, in place of {error or 'an error'}")
    elif expects == "refused" and error and one.error is not None and one.error[0] != error:
        yield Finding("other error", side, f"{_ending(one)}, in place of {error}")
    elif expects == "returns" and one.error is not None:
        yield Finding("accusation", side, _ending(one))


def _texts(side: str, one: Seen) -> Iterator[Finding]:
    errors = [worker["error"] for worker in one.workers if worker["error"] is not None]
    texts = [text for error in errors if error[3] == "ours" for text in (error[1], *error[2])]
    yield from (Finding("address", side, text) for text in (*one.warnings, *texts) if _ADDRESS.search(text))
    yield from (Finding("blame", side, error[1]) for error in errors[:1] if error[0] == "ContractViolation")


def _unlike(left: str, one: Seen, right: str, other: Seen) -> Iterator[str]:
    """Yields what differs between two sides, the most important first."""
    if right == "cluster":
        yield from _unlike_packed(left, one, right, other)
        return
    same_framework = right.startswith("sim")
    several = len(one.workers) > 1
    by_class = _BY_CLASS_OF_PROCESSES if several else _BY_CLASS
    if _family(one, by_class, to_the_letter=same_framework) != _family(other, by_class, to_the_letter=same_framework):
        yield f"{left} ends with {_ending(one)}\nand {right} with {_ending(other)}"
    if one.error is not None and one.error[3] == "elsewhere" and not same_framework:
        return
    if several and one.error is not None:
        return  # how far the other workers come by then depends on their pace
    for number, (first, second) in enumerate(zip(one.workers, other.workers, strict=True)):
        place = f" in worker {number}" if several else ""
        for what in ("result", "found"):
            expected, got = values(first[what]), values(second[what])
            unlike = difference(expected, got if same_framework else rounded(got, expected), what)
            if unlike is not None:
                yield f"{unlike}; {right}{place}, beside {left}"
        if _plain(first["events"]) != _plain(second["events"]):
            yield f"trace of {right}{place}: {second['events']}\nand of {left}: {first['events']}"
    if _plain(one.warnings) != _plain(other.warnings):
        yield f"warnings of {right}: {[*other.warnings]}\nand of {left}: {[*one.warnings]}"


def _unlike_packed(left: str, one: Seen, right: str, other: Seen) -> Iterator[str]:
    """Compares one worker of two replicas with two workers of one: classes of errors, and values of each replica."""
    endings = [None if seen.error is None else seen.error[0] for seen in (one, other)]
    if endings[0] != endings[1]:
        yield f"{left} ends with {_ending(one)}\nand {right} with {_ending(other)}"
    if endings != [None, None]:
        return
    merged = {key: item for worker in other.workers for key, item in values(worker["found"]).items()}
    expected = values(one.workers[0]["found"])
    unlike = difference(expected, {key: merged.get(key) for key in expected}, "found")
    if unlike is not None:
        yield f"{unlike}; {right}, beside {left}"


def _family(seen: Seen, by_class: tuple[str, ...], *, to_the_letter: bool) -> tuple[str, ...]:
    """Returns what errors are compared by: all of those of simstrategy and of the program, of others that they are."""
    error = seen.error
    if error is None:
        return ("a result",)
    if error[0] in by_class:
        return (error[0],)
    if error[3] == "ours" or to_the_letter or "stop" in error[1]:
        return (error[0], _plain(error[1]))
    return ("an error of the framework or of Python",)


def _ending(seen: Seen) -> str:
    return "a result" if seen.error is None else f"{seen.error[0]}: {seen.error[1]}"


def _plain(value: Any) -> Any:
    """Returns texts without the names of backends and places, for comparison."""
    if isinstance(value, str):
        for pattern, instead in _PLACES:
            value = pattern.sub(instead, value)
        return _ADDRESS.sub("ADDRESS", value)
    return [_plain(one) for one in value]


def known_ones(table: Mapping[str, Misuse]) -> list[Known]:
    """Reads `known.toml`; raises KeyError or ValueError for what is missing in it."""
    found = []
    for one in tomllib.loads((FOLDER / "known.toml").read_text(encoding="utf-8")).get("known", []):
        form = Form(**one.get("form", {}))
        program = Program(pieces_of(one["pieces"], table), form)
        texts = (one["name"], one["clause"], one["reason"], tuple(one["kinds"]), tuple(one["sides"]), one["shows"])
        if not all(texts):
            raise ValueError(f"known.toml: {one['name']!r} needs a name, a clause, a reason, kinds, sides and shows.")
        found.append(Known(*texts, program, tuple(one.get("within", ()))))
    return found


def pieces_of(tables: list[dict[str, Any]], table: Mapping[str, Misuse]) -> tuple[Piece, ...]:
    """Returns the pieces that tables describe: a fragment's name, texts of its options, and what it wraps."""
    found = []
    for one in tables:
        misuse = table[one["name"]]
        given = {name: misuse.options[name].index(text) for name, text in one.get("options", {}).items()}
        found.append(piece(misuse, given, pieces_of(one.get("inner", []), table)))
    return tuple(found)


def verdict(program: Program, seen: Mapping[str, Seen], known: list[Known]) -> tuple[str, list[Finding], set[str]]:
    """Returns a verdict in words, the findings that are not excused, and the names of the excuses that were used."""
    found = findings(program, seen)
    left, used = [], set()
    for finding in found:
        name = next((one.name for one in known if one.covers(program, finding)), None)
        if name is None:
            left.append(finding)
        else:
            used.add(name)
    if left:
        return "DIFFERENT", left, used
    if used:
        return f"known: {min(used)}", left, used
    ending = seen["sim"].error if "sim" in seen else None
    return ("the same result" if ending is None else f"the same error, {ending[0]}"), left, used
