"""What the page shows is what was recorded: of every program of tests/programs, at every stop, read out of Chromium."""

import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.check.outcome import program_folder, run_program
from simstrategy.player import PlayedRun, as_player
from simstrategy.player.sources import files_of
from simstrategy.player.stops import BEGINS, ENDS, events_of, stops_of
from simstrategy.trace import Result, SyncPoint, VariableWrite

sys.path.insert(0, str(Path(__file__).parents[1] / "programs"))

from every_program import EVERY

pytestmark = [pytest.mark.browser, pytest.mark.slow]

REPLICAS = 3
EVERY_NTH = 1 if os.environ.get("SIMSTRATEGY_BROWSER") == "required" else 12
"""`ci/run.py browser` looks at all programs."""

READ = """
async () => {
  const PARTS = ["#caption", "#more", ".middle", "section.source"];
  const cells = (row) => [...row.querySelectorAll("th, td")].map((cell) =>
    [...cell.querySelectorAll(".leaves > div")].map((one) => one.textContent).join("|") || cell.textContent);
  const body = (table) => [...table.querySelectorAll("tbody tr")].map(cells);
  const read = () => {
    const table = document.querySelector("#point > .wide table");
    return {
      error: document.querySelector("#more pre.error")?.textContent ?? null,
      rows: table ? body(table) : [],
      lines: [...document.querySelectorAll("#source .line.current .number")].map((one) => Number(one.textContent)),
      file: document.querySelector("#source-title").textContent,
      all: PARTS.map((one) => document.querySelector(one).textContent).join(),
    };
  };
  const press = (key) => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const walk = async (key) => {
    const found = [];
    for (;;) {
      while (document.querySelector("[aria-busy]")) await new Promise(requestIdleCallback);
      found.push(read());
      const before = location.hash;
      press(key);
      if (location.hash === before) return found;
    }
  };
  const picker = document.querySelector("#bar select");
  const walks = [];
  for (let place = 0; place < picker.options.length; place += 1) {
    picker.selectedIndex = place;
    picker.dispatchEvent(new Event("input"));
    press("Home");
    const there = await walk("ArrowRight");
    const back = (await walk("ArrowLeft")).reverse();
    walks.push([there, there.every((one, at) => one.all === back[at].all)]);
  }
  return walks;
}
"""


def recorded(program):
    recorder = ss.trace.Recorder(root=program_folder(program))
    strategy = ss.Strategy.mirrored(ss.backend("sim", replicas=REPLICAS), trace=recorder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_program(program, strategy, recorder)
    recorder.close()
    return recorder.recording()


def text_of(value):
    """Returns a value as the page has to show it, from its array alone."""
    if not value.digest:
        return f"{form_of(value)} no value was recorded"
    elements = (value.first if value.array is None else value.array).reshape(-1)
    texts = [quoted(str(one)) if isinstance(one, str) else str(one) for one in elements[:24]]
    return f"{form_of(value)} {' '.join(texts) or 'no element'}"


def quoted(text):
    return repr(text if len(text) <= 200 else f"{text[:200]} …")


def form_of(value):
    return f"{value.dtype}[{','.join('?' if size is None else str(size) for size in value.shape)}]"


def values_of(rows):
    return ["|".join(map(text_of, row)) or "no array" for row in rows]


def check_values(shown, expected):
    """Compares the texts of cells with those of values; what follows the elements is a remark on them."""
    assert len(shown) == len(expected)
    for one, other in zip(shown, expected, strict=True):
        pairs = zip(one.split("|"), other.split("|"), strict=True)
        assert all(text == wanted or text.startswith(f"{wanted} ") for text, wanted in pairs), (one, other)


def check_point(shown, point, phase):
    if point.requests and phase != ENDS:
        assert [row[1] for row in shown["rows"]] == [text.split(": ", 1)[-1] for text in point.requests]
        came = sorted(rank for rank in point.replicas if rank is not None)
        check_values([shown["rows"][rank][2] for rank in came], values_of(point.inputs))
        return
    count = max(len(point.inputs), 0 if phase == BEGINS else len(point.outputs))
    assert len(shown["rows"]) == count
    if not count:
        return
    is_inside = None not in point.replicas
    place = 3 if is_inside else 1
    if is_inside:
        arrived = [str(point.replicas.index(rank) + 1) for rank in sorted(point.replicas)]
        assert [row[1] for row in shown["rows"]] == arrived
        sites = dict(zip(point.replicas, point.sites, strict=True))
        assert [row[2] for row in shown["rows"]] == [sites[rank] for rank in sorted(point.replicas)]
    check_values([row[place] for row in shown["rows"]][: len(point.inputs)], values_of(point.inputs))
    if phase != BEGINS and point.outputs:
        check_values([row[place + 1] for row in shown["rows"]], values_of(point.outputs))


def check_stop(shown, event, phase):
    error = getattr(event, "error", None) if phase != BEGINS else None
    assert shown["error"] == (None if error is None else f"{error[0]}: {error[1]}")
    if isinstance(event, SyncPoint):
        check_point(shown, event, phase)
    elif isinstance(event, VariableWrite):
        before, after = [values_of([[value] for value in values]) for values in (event.before, event.after)]
        check_values([row[1] for row in shown["rows"]][: len(before)], before)
        check_values([row[2] for row in shown["rows"]], after)
    elif isinstance(event, Result) and event.leaves:
        check_values([row[1] for row in shown["rows"]], values_of([[value] for _, value in event.leaves]))
        assert [row[0] for row in shown["rows"]] == [path for path, _ in event.leaves]


def check_lines(shown, event, sources):
    sites = event.sites if isinstance(event, SyncPoint) else [getattr(event, "site", "")]
    if not sites:
        return  # a replica function raised: no call was made
    file = sites[0].rpartition(":")[0]
    if file not in sources:
        return
    assert shown["file"] == f"Source: {file}"
    wanted = {int(site.rpartition(":")[2]) for site in sites if site.rpartition(":")[0] == file}
    assert sorted(shown["lines"]) == sorted(wanted)


def test_values_lines_order_and_errors_of_every_program_are_the_recorders_both_ways(opened, tmp_path):
    folder = Path(__file__).parents[1] / "programs"
    sources = {file.name: file.read_text("utf-8") for file in sorted(folder.glob("*.py"))}
    runs = []
    for name, program in [*EVERY.items()][::EVERY_NTH]:
        recording = recorded(program)
        own = {one: sources[one] for one in files_of(recording) if one in sources}
        runs.append(PlayedRun(name, recording, own))
    file = tmp_path / "page.html"
    file.write_text(as_player("every program", runs), "utf-8")
    pages = opened(file).evaluate(READ)
    assert len(pages) == len(runs) >= 200 // EVERY_NTH
    stops_seen = 0
    for run, (there, is_same_back) in zip(runs, pages, strict=True):
        events = events_of(run.recording)
        stops = stops_of(events)
        assert is_same_back, run.name
        assert len(there) == max(len(stops), 1), run.name
        for shown, stop in zip(there, stops, strict=False):
            check_stop(shown, events[stop.event], stop.phase)
            check_lines(shown, events[stop.event], sources)
            stops_seen += 1
    assert stops_seen > np.sum([len(run.recording.points) for run in runs])
