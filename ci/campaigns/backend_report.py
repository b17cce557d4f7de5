"""The table of wrong backends: a line for each, counts by operator, and what the kit does not execute.  Text alone."""

from collections import Counter
from collections.abc import Iterator, Sequence

from backend_drawing import Mutant
from backend_edits import Edit
from backend_runs import Ended

__all__ = ["counts_by_operator", "lines_of", "short_of", "unreached_lines"]

Found = dict[str, dict[str, Ended]]
"""By profile and name, how each mutant ended."""
WIDTH = 76


def short_of(ended: Ended) -> str:
    """Returns in a few words how a mutant ended."""
    words = {"passes": "LIVES", "hangs": "killed by the limit in", "dies": "killed by its end in", "fails": "killed by"}
    return f"{words.get(ended.verdict, ended.verdict)} {ended.unit or ''}".strip()


def lines_of(mutants: Sequence[Mutant], found: Found, equivalent: dict[str, str], seen: str) -> Iterator[str]:
    """Yields two lines or three for each mutant: what it is, and what each profile made of it."""
    for mutant in mutants:
        edit = mutant.edit
        drawn = "" if mutant.seed == seen else " (second seed)"
        yield f"{mutant.name} {edit.file}:{edit.line} {edit.operator}{drawn}: {_cut(edit.before)} -> {_cut(edit.after)}"
        if mutant.name in equivalent:
            yield f"    equivalent: {equivalent[mutant.name]}"
            continue
        by = {profile: short_of(ended[mutant.name]) for profile, ended in found.items()}
        told = [f"{' and '.join(p for p in by if by[p] == text)}: {text}" for text in dict.fromkeys(by.values())]
        yield from (f"    {one}" for one in told)
    yield ""
    yield "To repeat a line: python3 ci/campaigns/backend_mutants.py --only NAME"


def _cut(text: str) -> str:
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 3]}..."


def counts_by_operator(mutants: Sequence[Mutant], found: Found, equivalent: dict[str, str]) -> Iterator[str]:
    """Yields a table: by operator how many mutants, how many of them equivalent or not opened, and what each kills."""
    yield ""
    yield f"{'operator':<32} {'mutants':>8} {'equivalent':>11} {'not opened':>11}" + "".join(f"{p:>9}" for p in found)
    columns: dict[str, Counter[str]] = {}
    clauses: dict[str, Counter[str]] = {profile: Counter() for profile in found}
    for one in mutants:
        row = columns.setdefault(one.edit.operator, Counter())
        row["mutants"] += 1
        row["equivalent"] += one.name in equivalent
        for profile, by in found.items() if one.name not in equivalent else ():
            ended = by[one.name]
            row["not opened"] += ended.verdict == "not opened" and profile == next(iter(found))
            row[profile] += ended.verdict in ("fails", "hangs", "dies")
            clauses[profile][ended.unit.clause if ended.unit else "before any test"] += ended.verdict != "passes"
    for name, row in [*sorted(columns.items()), ("all", sum(columns.values(), Counter()))]:
        kept = "".join(f"{row[profile]:>9}" for profile in found)
        yield f"{name:<32} {row['mutants']:>8} {row['equivalent']:>11} {row['not opened']:>11}{kept}"
    for profile, counts in clauses.items():
        killed = ", ".join(f"{clause} {times}" for clause, times in sorted(counts.items()) if times)
        yield f"killed by {profile}, by clause: {killed}"


def unreached_lines(edits: Sequence[Edit], reasons: dict[tuple[str, str], str]) -> tuple[list[str], int]:
    """Returns lines of functions with edits that no test executes, and how many of the functions have no reason."""
    counts = Counter((edit.file, edit.function) for edit in edits)
    lines, unnamed = ["", "Not executed by any test of the kit, so no mutants are made there:"], 0
    for (file, function), times in sorted(counts.items()):
        where = {line for edit in edits if (edit.file, edit.function) == (file, function) for line in [edit.statement]}
        reason = reasons.get((file, function), "")
        unnamed += not reason
        places = ", ".join(map(str, sorted(where)))
        lines.append(f"{file} {function}: {times} edits in lines {places}: {reason or 'NO REASON'}")
    return lines, unnamed
