"""How long pages of recordings take to open and to step, and how large they are, as shares of their limits.

    python3 ci/bench/player.py [--rounds 5]

Medians of several rounds, in Chromium, which `ci/run.py browser` installs. A step, and a move of the slider, last until
the page has its new layout. Limits: a page of 10,000 replica events with values opens in 1 s and has 500 kB, one of
100,000 in 4 s and 5 MB; a step of 64 replicas takes 50 ms and a move of the slider 100 ms.
"""

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

import simstrategy as ss
from simstrategy.player import PlayedRun, as_player

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from evidence import CANNOT_RUN

PAGES = {"8 replicas, 10,000 events": (8, 1250), "8 replicas, 100,000 events": (8, 12_500), "64 replicas": (64, 160)}
"""Replicas and collectives of each page."""
LIMITS = {"8 replicas, 10,000 events": (1.0, 500_000), "8 replicas, 100,000 events": (4.0, 5_000_000)}
"""Seconds until the first step is drawn, and bytes of the page."""
STEP_MS, SLIDER_MS = 50, 100
STEPS = """key => Array.from({length: 20}, () => {
    const start = performance.now();
    document.body.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
    document.body.getBoundingClientRect();
    return performance.now() - start;
})"""
MOVES = """() => Array.from({length: 20}, (_, number) => {
    const slider = document.querySelector("input[type=range]"), start = performance.now();
    slider.value = String(1 + Math.floor(number * 0.618 * Number(slider.max)) % Number(slider.max));
    slider.dispatchEvent(new Event("input", {bubbles: true}));
    document.body.getBoundingClientRect();
    return performance.now() - start;
})"""


def page_of(replicas, collectives):
    """Returns the page of a run whose replicas add new values of four elements so many times."""
    recorder = ss.trace.Recorder()
    strategy = ss.Strategy.mirrored("sim", replicas=replicas, trace=recorder)

    def replica():
        ctx = ss.get_replica_context()
        x = ctx.xp.full((4,), 0.1 + ctx.replica_id_in_sync_group, dtype="float32")
        for number in range(collectives):
            ctx.all_reduce("SUM", x + number)

    strategy.run(replica)
    recorder.ended(0, [])
    recorder.close()
    source = Path(__file__).read_text("utf-8")
    return as_player("bench", [PlayedRun("run", recorder.recording(), {"player.py": source})])


def measured(browser, file):
    """Returns seconds until the first step is drawn, and milliseconds of a step on, a step back and a move."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    tab = context.new_page()
    began = time.perf_counter()
    tab.goto(f"file://{file}")
    tab.wait_for_selector("html[data-ready]", state="attached")
    opened_s = time.perf_counter() - began
    first = tab.inner_text("#caption")
    on = tab.evaluate(STEPS, "ArrowRight")
    if tab.inner_text("#caption") == first:
        raise RuntimeError("The page has not taken a step: its keys are others than those of this bench.")
    times = (on, tab.evaluate(STEPS, "ArrowLeft"), tab.evaluate(MOVES))
    context.close()
    return opened_s, *map(statistics.median, times)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args(arguments).rounds
    chromium = shutil.which("chromium")
    if chromium is None:
        print("There is no chromium: python3 ci/run.py browser installs it.")
        return CANNOT_RUN
    missed = 0
    print(f"{'page':30}{'opens':>8}{'size':>8}{'step on':>9}{'back':>7}{'slider':>8}   shares of their limits")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, of_run in PAGES.items():
            file = Path(folder) / "page.html"
            file.write_text(page_of(*of_run), "utf-8")
            opened_s, *times = map(
                statistics.median, zip(*[measured(browser, file) for _ in range(rounds)], strict=True)
            )
            limit_s, limit_bytes = LIMITS.get(name, (None, None))
            shares = [
                None if limit_s is None else opened_s / limit_s,
                None if limit_bytes is None else file.stat().st_size / limit_bytes,
                *(one / limit for one, limit in zip(times, (STEP_MS, STEP_MS, SLIDER_MS), strict=True)),
            ]
            missed += sum(share is not None and share > 1 for share in shares)
            texts = ["-" if share is None else f"{share:.2f}" for share in shares]
            print(f"{name:30}{texts[0]:>8}{texts[1]:>8}{texts[2]:>9}{texts[3]:>7}{texts[4]:>8}")
        browser.close()
    print("all limits are kept" if not missed else f"{missed} limits are exceeded")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
