"""The answers of ours that the list of deviations spells out, made anew by a model that knows nothing of ours."""

import json
import tomllib
from itertools import islice
from pathlib import Path

HERE = Path(__file__).parent


def cases(file):
    lines = (HERE / file).read_text().splitlines()
    return {(case := json.loads(line)["case"])["id"]: case for line in lines}


def expected(profile):
    tables = tomllib.loads((HERE / "deviations.toml").read_text())[profile]
    everywhere = [table for table in tables if "backends" not in table]
    return {one: answer for table in everywhere for one, answer in table.get("expected", {}).items()}


def batched(elements, size, drop):
    batches = [elements[i : i + size] for i in range(0, len(elements), size)]
    return [batch for batch in batches if len(batch) == size or not drop]


def lines(case, worker):
    """The lines of the files of one worker, as its own pipeline reads them."""
    files = [
        [f"f{number}-{line}" for line in range(count)]
        for number, count in enumerate(case["files"])
        if number % case["workers"] == worker
    ]
    if case["source"] != "interleave":
        return [line for file in files for line in file]
    found, waiting, slots = [], iter([iter(file) for file in files]), [None, None]
    turn, left = 0, True
    while left or any(slots):
        if slots[turn] is None:
            slots[turn] = next(waiting, None)
            left = slots[turn] is not None and left
        if slots[turn] is not None:
            block = list(islice(slots[turn], 1))
            found += block
            slots[turn] = slots[turn] if block else None
        turn = 1 - turn
    return found


def file_streams(case):
    """File w, w + W, … for worker w; the user's own steps on them; each batch in W * R equal parts."""
    total = case["workers"] * case["replicas_per_worker"]
    streams = []
    for worker in range(case["workers"]):
        stream = []
        for batch in batched(lines(case, worker) * case["repeat"], case["batch"], case["drop_remainder"]):
            width = -(-len(batch) // total)
            stream += [batch[i * width : (i + 1) * width] for i in range(total)]
        streams.append(stream)
    replicas = case["replicas_per_worker"]
    longest = max(-(-len(stream) // replicas) for stream in streams) * replicas
    return {"streams": [stream + [[]] * (longest - len(stream)) for stream in streams]}


def iterated(case):
    """Groups of one sub-batch for each replica; one that is incomplete is dropped, a short sub-batch is not."""
    size = case["batch"] // (case["replicas"] if case["kind"] == "make_dataset_iterator" else 1)
    parts = batched(list(range(case["total"])), size, case["drop_remainder"])
    steps = [parts[i : i + case["replicas"]] for i in range(0, len(parts), case["replicas"])]
    steps = [step for step in steps if len(step) == case["replicas"]]
    shown = [[float(sum(part)) for part in step] for step in steps] if case["run"] else steps
    return {"steps": shown, "end": "OutOfRangeError"}


def test_answers_that_are_spelled_out_are_those_of_a_model_of_their_own():
    found, recorded = expected("TF1_15"), cases("strategy.jsonl")
    assert len(found) == 31
    for one, answer in found.items():
        assert answer == file_streams(recorded[one]), one


def test_at_most_150_of_the_recorded_cases_deviate_in_any_profile():
    tables = tomllib.loads((HERE / "deviations.toml").read_text())
    entries = [entry for profile in tables.values() for entry in profile]
    deviating = {one for entry in entries for one in (*entry.get("ids", ()), *entry.get("expected", ()))}
    recorded = {*cases("strategy.jsonl"), *cases("iterators.jsonl")}
    assert len(recorded) == 1850
    assert len(deviating & recorded) <= 150


def test_the_model_is_right_where_tensorflow_does_the_same():
    answers = {}
    for line in (HERE / "iterators.jsonl").read_text().splitlines():
        case, answer = (found := json.loads(line))["case"], found["answers"]["1.13.2"]
        answers[case["id"]] = (case, answer)
    agreeing = [one for one, (case, answer) in answers.items() if "error" not in answer and iterated(case) == answer]
    assert len(agreeing) == sum("error" not in answer for _, answer in answers.values()) > 180
