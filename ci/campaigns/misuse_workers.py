"""Worker processes in which programs of misuses run: a launcher for each backend, and what a hang leaves.

A program that exceeds its limit is killed with its workers; the next one begins in new ones.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, final

from misuse import Form

from simstrategy.launch import Launcher

__all__ = ["CARRIERS", "SIDES", "Seen", "Workers"]

CARRIERS: dict[str, tuple[int, str, tuple[str, ...]]] = {
    "sim": (1, "simstrategy.sim", ("sim", "sim again", "sim threads", "cluster")),
    "torch": (1, "simstrategy_torch", ("torch",)),
    "tensorflow": (1, "simstrategy_tensorflow", ("tensorflow",)),
    "xla": (1, "simstrategy_xla", ("xla",)),
    "gloo": (2, "simstrategy_torch", ("gloo",)),
}
"""By backend: its processes, the module that is imported once for all of them, and the sides that they run."""
SIDES = tuple(side for _, _, sides in CARRIERS.values() for side in sides)

ENVIRONMENT = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}
_JOB = "misuse_side:job"
_LINES = 12
_LIMITS_AGAIN = 3.0
"""What seems to hang runs once more, so many times as long: on a loaded machine a framework compiles for seconds."""
_PLACE = re.compile(r'File "program.py", (line \d+ in .*)')


class Seen(NamedTuple):
    """What became of a program on a side.  workers: what each kept. stopped: a hang, or a process that ended."""

    workers: tuple[Mapping[str, Any], ...]
    warnings: tuple[str, ...] = ()
    stopped: str = ""

    @property
    def error(self) -> list[Any] | None:
        """The error of the program: class, text, notes, origin; of several workers' the one that is not a report."""
        errors = [one["error"] for one in self.workers if one["error"] is not None]
        return next((one for one in errors if one[0] != "PeerFailed"), errors[0] if errors else None)


@final
class Workers:
    """The launchers of some backends; a context manager.  limit_s: of one program on one backend, in seconds."""

    def __init__(self, carriers: Sequence[str], *, limit_s: float = 20.0) -> None:
        os.environ.update(ENVIRONMENT)
        folders = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
        os.environ["PYTHONPATH"] = os.pathsep.join(one for one in folders if one)
        self._limit_s = limit_s
        self._stack = ExitStack()
        made = [(name, *CARRIERS[name]) for name in carriers]
        self._launchers = {
            name: self._stack.enter_context(Launcher(count, preload=[module, "misuse_side"]))
            for name, count, module, _ in made
        }
        self._pool = self._stack.enter_context(ThreadPoolExecutor(len(made)))

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def restart(self) -> None:
        """Ends all workers, so that the next program runs in processes in which none has run."""
        for one in self._launchers.values():
            one.restart_workers()

    def run(self, programs: Sequence[tuple[str, Form]], sides: Sequence[str] = SIDES) -> Iterator[dict[str, Seen]]:
        """Runs programs on all backends side by side; yields what became of each, by side, in order."""
        each = [
            self._pool.submit(self._all, name, [side for side in CARRIERS[name][2] if side in sides], programs)
            for name in self._launchers
            if set(CARRIERS[name][2]) & set(sides)
        ]
        for found in zip(*[one.result() for one in each], strict=True):
            yield {side: seen for part in found for side, seen in part.items()}

    def _all(self, name: str, sides: list[str], programs: Sequence[tuple[str, Form]]) -> list[dict[str, Seen]]:
        return [self._one(name, sides, *program) for program in programs]

    def _one(self, name: str, sides: list[str], text: str, form: Form, limits: float = 1.0) -> dict[str, Seen]:
        limit_s = limits * self._limit_s
        # The workers write where they hang a little before they are killed.
        arguments = [text, list(form), sides, limit_s - 1]
        ended = self._launchers[name].run(_JOB, arguments, timeout_s=limit_s, grace_s=limit_s)
        if all(one.ok for one in ended):
            return {side: _joined([one.value[side] for one in ended]) for side in sides}
        if len(sides) > 1:
            # One of them is the cause: each alone.
            found: dict[str, Seen] = {}
            for side in sides:
                if not (side == "sim again" and "sim" in found and found["sim"].stopped):
                    found |= self._one(name, [side], text, form)
            return found
        worst = next(one for one in ended if not one.ok)
        if worst.timed_out and limits == 1.0:
            return self._one(name, sides, text, form, _LIMITS_AGAIN)
        if worst.error is not None:
            return {sides[0]: Seen((), (), f"the harness: {worst.error[2][-1500:]}")}
        output = " | ".join(worst.output.strip().splitlines()[-_LINES:])
        if worst.timed_out:
            places = dict.fromkeys(_PLACE.findall(worst.output))
            return {sides[0]: Seen((), (), f"hangs at {', '.join(places) or output}")}
        return {sides[0]: Seen((), (), f"its process ended with code {worst.code}: {output}")}


def _joined(parts: Sequence[Mapping[str, Any]]) -> Seen:
    """Returns what the processes of a side kept as one; a warning that each of them gives counts once."""
    workers = tuple(worker for part in parts for worker in part["workers"])
    return Seen(workers, tuple(dict.fromkeys(text for part in parts for text in part["warnings"])))
