"""A front that computes what a script would: no process is started."""

import numpy as np

from simstrategy.check.causes.facts import StepFacts
from simstrategy.check.scripts.facts import ScriptRun, Value

PLACE = "after step 1['w']"
START = np.float32([0.3, -0.7, 0.11])
ROWS = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)


class Fake:
    """A runner whose script is a function of its settings.  It counts runs and is closed once."""

    name = "torchrun"
    rank_text = None
    nothing = "the script did nothing. Let it do something"
    laws = ("state", "late", "coverage")

    def __init__(self, script):
        self.script = script
        self.runs = []
        self.closed = 0

    def __call__(self, name):
        return self

    def run(self, settings):
        self.runs.append(settings)
        return self.script(settings)

    def close(self):
        self.closed += 1


def trained(settings, factor=1.0, drift=0.0):
    """One step on the mean of all rows.  factor: of the gradients; drift: what the last rank adds to its copy."""
    count = settings.replicas
    start = START if settings.nudge is None else np.nextafter(START, np.float32(settings.nudge))
    terms = [np.mean(part, axis=0, dtype=np.float32) * start for part in np.split(ROWS, count)]
    gradient = np.float32(np.sum(terms, axis=0, dtype=np.float32) / np.float32(count) * np.float32(factor))
    copies = [start - np.float32(0.1) * gradient for _ in range(count)]
    copies[-1] = copies[-1] + np.float32(drift if count > 1 else 0.0)
    names = ("w",)
    before, after = [tuple((one,) for one in found) for found in ([start] * count, copies)]
    gradients, own = tuple((gradient,) for _ in range(count)), tuple((one,) for one in terms)
    step = StepFacts(1, "train.py:9", "train.py:8", names, before, gradients, own, after)
    values = (Value(PLACE, tuple(copies[:1] if not drift or count == 1 else copies), "float32", True),)
    return ScriptRun(None, "", values, (step,), events=1, nudged=True)
