"""Replays recorded calls of `tf.estimator` on `simstrategy.estimator`, and compares within rounding.

    python3 ci/golden/estimator_replay.py [BACKEND …]

Prints a table of calls for each backend and release. Exit code 1 if any differs. It starts no TensorFlow 1.
"""

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Final

import numpy as np
from estimator_models import model_fn, optimizer
from estimator_rows import classes, input_function, rows
from estimator_verdict import Finding, judged

from golden_replay.asking import attempt
from golden_replay.cases import decoded
from golden_replay.deviations import Deviation, read_deviations
from simstrategy.data import Dataset
from simstrategy.device import Backend, open_backend
from simstrategy.estimator import Estimator, RunConfig
from simstrategy.estimator.folder import Folder, read
from simstrategy.strategy import Semantics, Strategy, current_group

RECORDED: Final = Path(__file__).resolve().parents[2] / "tests" / "golden" / "estimator"
BACKENDS: Final = ("sim", "tensorflow", "torch", "xla")
PROFILES: Final = (Semantics.TF1_13, Semantics.TF1_15)
Line = dict[str, Any]


def recorded() -> list[Line]:
    """Returns the recorded cases, in their answers arrays and errors in place of descriptions."""
    place = RECORDED / "estimator.jsonl"
    lines = [json.loads(line) for line in place.read_text(encoding="utf-8").splitlines()]
    return [{**line, "answers": decoded(line["answers"], str(place))} for line in lines]


def listed(profile: Semantics) -> dict[str, Deviation]:
    """Returns the listed deviations of a profile by call, such as "end-0-2-2/0"."""
    return read_deviations(RECORDED / "deviations.toml", profile.name)


def replay(lines: Sequence[Line], backend: str, profile: Semantics) -> Iterator[Finding]:
    """Yields a finding for each recorded call of the profile's release.

    backend: a name, opened once for each number of replicas.
    """
    deviations, release = listed(profile), profile.release
    with ExitStack() as stack:
        opened: dict[int, Backend] = {}

        def strategy(replicas: int) -> Strategy | None:
            if replicas and replicas not in opened:
                opened[replicas] = stack.enter_context(closing(open_backend(backend, replicas=replicas)))
            return Strategy.mirrored(opened[replicas], semantics=profile) if replicas else None

        for line in (one for one in lines if release in one["answers"]):
            answers = line["answers"][release]["calls"]
            for number, (found, ours) in enumerate(zip(answers, _calls(line, answers, backend, strategy), strict=True)):
                name = f"{line['case']['id']}/{number}"
                yield judged(name, found, ours, deviations.get(name))


def _calls(line: Line, answers: Sequence[Any], backend: str, strategy: Callable[[int], Strategy | None]) -> list[Any]:
    """Returns our answers to the calls of a case, each made by an Estimator of its own on one folder."""
    # A canned network begins with what TensorFlow drew.
    first = answers[0] if isinstance(answers[0], dict) else {}
    initial = first.get("checkpoints", {}).get("0", {})
    with tempfile.TemporaryDirectory() as folder:
        return [
            attempt(lambda case={**line["case"], **call}: _call(case, initial, folder, backend, strategy))
            for call in line["case"]["calls"]
        ]


def _call(case: Line, initial: Mapping[str, Any], folder: str, backend: str, strategy: Any) -> Line:
    parts: dict[int, list[Any]] = {}
    gradients: list[Any] = []
    calls: list[Any] = []
    losses: list[Any] = []
    with ExitStack() as stack:
        made = {name: strategy(case[name]) for name in ("train", "eval")}
        for one in filter(None, made.values()):
            stack.callback(one.close)

        def note(rank: int, values: Any) -> None:
            parts.setdefault(rank, []).append([_host(values).tolist()])

        config = RunConfig(
            model_dir=folder,
            train_distribute=made["train"],
            eval_distribute=made["eval"],
            backend=backend,
            save_checkpoints_steps=case["save_steps"],
            keep_checkpoint_max=case["keep"],
        )
        chosen = optimizer(case["optimizer"], lambda gradient: gradients.append(_host(gradient)))
        estimator = Estimator(model_fn, config, params=(case, note, chosen, initial))
        input_fn = _input_fn(case, calls)
        if case["call"] == "predict":
            options = {key: case[key] for key in ("yield_single_examples",) if key in case}
            return {"predictions": list(estimator.predict(input_fn, **options)), "input_fn": calls}
        if case["call"] == "evaluate":
            metrics = estimator.evaluate(input_fn, steps=case["steps"])
            steps = len(next(iter(parts.values())))
            told = {
                "input_fn": calls,
                "steps": steps,
                "metrics": {key: np.asarray(one) for key, one in metrics.items()},
            }
            return {**told, "parts": _by_step(parts, steps) if case["model"] == "custom" else []}
        options = {key: case[key] for key in ("steps", "max_steps") if key in case}
        estimator.train(input_fn, hooks=[lambda step, loss: losses.append(np.asarray(loss))], **options)
    saved = Folder(folder, None)
    told = {"input_fn": calls, "losses": losses, "parts": [], "gradients": []}
    if case["model"] == "custom":
        told["parts"] = _by_step(parts, len(losses))
        # Each replica's rule receives the same sum: of w on all devices, then of b.
        kept, count = gradients[:: max(case["train"], 1)], 2
        told["gradients"] = [kept[number : number + count] for number in range(0, len(kept), count)]
    return {**told, "checkpoints": {str(step): dict(read(saved.file(step))) for step in saved.steps()}}


def _by_step(parts: Mapping[int, list[Any]], steps: int) -> list[Any]:
    return [[parts[rank][step] for rank in sorted(parts)] for step in range(steps)]


def _host(array: Any) -> Any:
    return current_group().backend.get(array)


def _input_fn(case: Line, calls: list[Any]) -> Callable[..., Any]:
    data = case["data"]

    def built(batch: int) -> Any:
        features, labels = rows(data["rows"])
        if case["model"].endswith("Classifier"):
            labels = classes(labels)
        forms = {"pair": (features, labels), "features": features, "triple": (features, labels, labels)}
        if data["returns"] not in forms:
            return None if data["returns"] == "nothing" else (features, labels)
        dataset = Dataset.from_tensor_slices(forms[data["returns"]]).repeat(data["repeat"])
        return dataset.batch(batch, drop_remainder=data["drop_remainder"])

    return input_function(data, built, calls)


def main(backends: Sequence[str]) -> int:
    lines, failed = recorded(), 0
    print(f"{'backend':12}{'release':9}{'cases':>7}{'calls':>7}{'agree':>7}{'deviations':>12}{'differ':>8}")
    for backend in backends:
        for profile in PROFILES:
            found = list(replay(lines, backend, profile))
            cases = sum(profile.release in line["answers"] for line in lines)
            counts = Counter("differ" if one.text else "deviations" if one.deviates else "agree" for one in found)
            row = f"{len(found):>7}{counts['agree']:>7}{counts['deviations']:>12}{counts['differ']:>8}"
            print(f"{backend:12}{profile.release:9}{cases:>7}{row}", flush=True)
            differing = [one for one in found if one.text]
            for one in differing:
                print(f"  {one.call}: {one.text}")
            failed += bool(differing)
    print("Everything agrees but for what is listed." if not failed else f"{failed} replays did not agree.")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or BACKENDS))
