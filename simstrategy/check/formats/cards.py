"""What differs, as cards of a page: one for each finding, and one for findings that differ in the replicas alone.

Findings are put together where their law, backend, schedule, kind, line and variable are equal, and no others.
"""

import re
from collections.abc import Iterator, Sequence
from html import escape
from itertools import zip_longest
from typing import Final, NamedTuple
from urllib.parse import quote

from simstrategy.check.causes.wording import listed
from simstrategy.check.formats.junit import printable
from simstrategy.check.formats.played import Place, Played
from simstrategy.check.formats.words import linked_kinds
from simstrategy.check.report import Report
from simstrategy.check.row import Finding, Row
from simstrategy.player import PlayedRun, made_at, variables_of

__all__ = ["cards", "only_fails"]

_LINE: Final = re.compile(r"([\w./-]+\.py):\d+", re.ASCII)
_QUOTED: Final = re.compile(r"'([^'\n]+)'")
_COUNTS: Final = re.compile(r"(\d+)( against .+)?")


class _Member(NamedTuple):
    """One finding of a card, with its row, and its place in the player where it has one."""

    row: Row
    finding: Finding
    place: Place | None


def cards(report: Report, shown: Played) -> Iterator[str]:
    """Yields the HTML of what differs: its place, the cause and the events of it, where known, and the values.

    Values beside a cause are folded: they are of the end of the run.
    """
    if report.findings:
        yield f'<h2 class="problem">{"What fails" if only_fails(report) else "What differs"}</h2>'
    found = zip_longest(_problems(report), report.findings, shown.places)
    members: dict[tuple[object, ...], list[_Member]] = {}
    for number, (row, finding, place) in enumerate(found):
        members.setdefault(_alike(finding) or (number,), []).append(_Member(row, finding, place))
    schedules = len({row.schedule for row in report.rows}) > 1
    for alike in members.values():
        yield from _card(alike, shown, schedules=schedules)


def only_fails(report: Report) -> bool:
    """Returns whether the program raised in each row that has a problem: nothing was found to differ."""
    return all(row.raised for row in _problems(report))


def _problems(report: Report) -> list[Row]:
    return [row for row in report.rows if row.problem is not None]


def _alike(one: Finding) -> tuple[object, ...] | None:
    """Returns what findings of one card have in common; None for one whose cause has neither kind nor line."""
    if one.cause is None or not (one.kind or one.site):
        return None
    return one.law, one.backend, one.schedule, one.kind, one.also, one.site, one.source, one.variable


def _card(members: Sequence[_Member], shown: Played, *, schedules: bool) -> Iterator[str]:
    """Yields the HTML of findings of one card.  schedules: whether its title has the schedule."""
    first, *others = members
    row, one, place = first
    where = f"{one.backend}, {_replicas(members)}" + (f", {one.schedule}" if schedules else "")
    yield f"<h3>{_text(where if row.raised else f'{one.law}: {where}')}</h3>"
    line = one.source or one.site
    if one.cause and line:
        if one.earlier:
            before = f"{_with_lines(one.earlier, shown, place)}{_code_at(one.earlier, shown, place)}"
            yield f"<p><strong>May begin at:</strong> {before}</p>"
        where = "Line" if one.kind else "Shows at"
        yield f"<p><strong>{where}:</strong> {_with_lines(line, shown, place)}{_code_at(line, shown, place)}</p>"
    if one.cause is not None:
        made = _made(one.cause, shown, place)
        yield f"<p><strong>Cause:</strong> {linked_kinds(_with_lines(one.cause, shown, place))}{made}</p>"
    if others:
        yield f"<p>{_text(_same(members))}</p>"
    for member in members:
        link = _link(shown, member, is_first=member is first, first=one)
        if link:
            yield f"<p>{link}</p>"
    for member in members:
        yield _values(shown, member, alone=not others, is_first=member is first)


def _values(shown: Played, member: _Member, *, alone: bool, is_first: bool) -> str:
    """Returns the text of a finding; folded beside a cause, which it has with it where another one is above."""
    _, one, place = member
    text = f"<pre>{_with_lines(one.text, shown, place)}</pre>"
    if one.cause is None:
        return text
    words = "the values that differ"
    if not alone:
        words = f"{words} with {_count(one)}" if is_first else f"the cause, and {words}, with {_count(one)}"
    if not is_first:
        text = f"<pre>{linked_kinds(_with_lines(one.cause, shown, place))}</pre>{text}"
    return f"<details><summary>{_text(words)}</summary>{text}</details>"


def _same(members: Sequence[_Member]) -> str:
    """Returns what the findings of a card have in common, as a sentence."""
    one = members[0].finding
    common = [word for word, has in (("kind", one.kind), ("line", one.site), ("variable", one.variable)) if has]
    counts = _counts([member.finding for member in members[1:]])
    named = f"The {listed(common)} of the cause {'is' if len(common) == 1 else 'are'} the same"
    return f"{named} with {counts or ' and '.join(_count(member.finding) for member in members[1:])}."


def _replicas(members: Sequence[_Member]) -> str:
    found = [member.finding for member in members]
    if len(found) == 1:
        return f"replicas {found[0].replicas}"
    behind = {matched[2] or "" for one in found if (matched := _COUNTS.fullmatch(one.replicas))}
    counts = _counts(found)
    return (
        f"{counts}{behind.pop()}"
        if counts and len(behind) == 1
        else f"replicas {listed([one.replicas for one in found])}"
    )


def _counts(found: Sequence[Finding]) -> str:
    """Returns the numbers of replicas, such as "2, 3 and 4 replicas"; "" where a row has another form."""
    counts = [matched[1] for one in found if (matched := _COUNTS.fullmatch(one.replicas))]
    if len(counts) < len(found):
        return ""
    return f"{listed(counts)} {'replica' if counts == ['1'] else 'replicas'}"


def _count(one: Finding) -> str:
    return _counts([one]) or f"replicas {one.replicas}"


def _link(shown: Played, member: _Member, *, is_first: bool, first: Finding) -> str:
    """Returns what leads to an event in the player below, and of another finding than the first to its line."""
    _, one, place = member
    if place is None:
        return ""
    if place.left:
        who = "" if is_first else f" with {_count(one)}"
        return f"Not shown below{_text(who)}: {_text(place.left)}"
    link = f'<a href="{_address(shown, place)}">See it below, in the run with {_text(shown.runs[place.run].name)}</a>'
    site = one.source or one.site
    if is_first or not site:
        return link
    step = f" in step {one.step}" if one.step is not None and one.step != first.step else ""
    return f"{link}, at {_with_lines(site, shown, place)}{step}"


def _address(shown: Played, place: Place) -> str:
    run = f"run={place.run + 1}&amp;" if len(shown.runs) > 1 else ""
    return f"#{run}at={place.stop + 1}"


def _with_lines(text: str, shown: Played, place: Place | None) -> str:
    """Returns a text in which each line of the program, such as ``train.py:31``, leads to it in the player below."""
    if place is None or place.left:
        return _text(text)
    sources = shown.runs[place.run].sources
    address = _address(shown, place)

    def link(found: re.Match[str]) -> str:
        line, name = found[0], found[1]
        if not any(one == name or one.endswith(f"/{name}") for one in sources):
            return line
        return f'<a href="{address}&amp;line={quote(line)}">{line}</a>'

    # A line has no character that is escaped.
    return _LINE.sub(link, _text(text))


def _made(text: str, shown: Played, place: Place | None) -> str:
    """Returns where the variables of a cause are made whose names are not in the program; "" for none."""
    if place is None or place.left:
        return ""
    run = shown.runs[place.run]
    sites = made_at(variables_of(run.recording))
    names = dict.fromkeys(name for name in _QUOTED.findall(text) if sites.get(name) and not _has(run, name))
    lines = ((name, _with_lines(sites[name], shown, place), _code(run, sites[name])) for name in names)
    return "".join(
        f" {_text(repr(name))} is the variable that is made at {line}{code and f', by {code}'}."
        for name, line, code in lines
    )


def _has(run: PlayedRun, name: str) -> bool:
    return any(name in source for source in run.sources.values())


def _code_at(site: str, shown: Played, place: Place | None) -> str:
    """Returns the text of a line of a cause; "" where no run of the page shows it."""
    return "" if place is None or place.left else f" {_code(shown.runs[place.run], site)}"


def _code(run: PlayedRun, site: str) -> str:
    """Returns the text of a line, as in ``weight = ss.Variable(0.0)``; "" where the page has no text of its file."""
    file, _, number = site.rpartition(":")
    lines = run.sources.get(file, "").splitlines()
    return f"<code>{_text(lines[int(number) - 1].strip())}</code>" if 0 < int(number) <= len(lines) else ""


def _text(text: str) -> str:
    return escape(printable(text))
