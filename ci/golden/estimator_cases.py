"""Lists the cases of `tests/golden/estimator/estimator.jsonl`: what an Estimator is asked to do, call by call.

It asks nobody for answers. Nothing is drawn at random.
"""

from collections.abc import Iterator
from typing import Any

Body = dict[str, Any]

RELEASES = ("1.13.2", "1.15.5")
OF_1_13 = (
    *("end-9-2-2", "end-11-2-3", "end-7-3-3", "steps-add-up", "steps-max", "steps-wrong", "evaluate-2"),
    *("evaluate-end-7-3", "evaluate-untrained", "predict-2", "optimizer-momentum-2", "checkpoints-2-5"),
    *("checkpoints-other-replicas", "context-2", "without-loss-2", "canned-linear-default-2", "canned-linear-mean-3"),
    *("canned-linearclassifier-2", "canned-dnnregressor-2"),
    *(f"returns-{one}-2" for one in ("nothing", "arrays", "features", "triple")),
    *(
        f"loss-{one}-2"
        for one in ("sum", "mean", "sum_over_batch_size", "sum_by_nonzero_weights", "own_mean", "own_sum")
    ),
)
LOSSES = ("SUM", "MEAN", "SUM_OVER_BATCH_SIZE", "SUM_BY_NONZERO_WEIGHTS", "own_mean", "own_sum")
DATA = {"rows": 13, "batch": 2, "repeat": 1, "drop_remainder": False, "returns": "pair", "context": False}
PLAIN = {
    "train": 2,
    "eval": 0,
    "model": "custom",
    "loss": "SUM_BY_NONZERO_WEIGHTS",
    "weights": False,
    "optimizer": "sgd",
    "save_steps": 1000,
    "keep": 5,
    "without_loss": False,
}
"""The settings of a case that its own do not replace. train, eval: replicas, 0 without a strategy."""


EVEN = {"rows": 12}
"""Data of as many batches as a multiple of 2 and of 3 replicas: evaluations of other numbers differ from run to run."""


def case(name: str, calls: list[Body], data: Body | None = None, **settings: Any) -> Body:
    """Returns a case. calls: each may replace settings of the case for itself."""
    used = {**PLAIN, **settings}
    counts = [{**used, **call}[one] for call in [{}, *calls] for one in ("train", "eval")]
    body = {"id": name, "kind": "estimator", "replicas": max(1, *counts), **used}
    return {**body, "data": {**DATA, **(data or {})}, "calls": calls}


def train(**options: Any) -> Body:
    return {"call": "train", **options}


def evaluate(steps: int | None = None, **options: Any) -> Body:
    return {"call": "evaluate", "steps": steps, **options}


def predict(**options: Any) -> Body:
    return {"call": "predict", **options}


def losses() -> Iterator[Body]:
    for loss in LOSSES:
        for replicas in (2, 3):
            settings = {"loss": loss, "weights": True, "train": replicas, "eval": replicas}
            yield case(f"loss-{loss.lower()}-{replicas}", [train(steps=2), evaluate()], EVEN, **settings)
    for loss, replicas in (("SUM", 0), ("MEAN", 1)):
        settings = {"loss": loss, "weights": True, "train": replicas, "eval": replicas}
        yield case(f"loss-{loss.lower()}-{replicas}", [train(steps=2), evaluate()], **settings)


def ends() -> Iterator[Body]:
    shapes = {
        2: [(11, 2, False), (9, 2, False), (7, 3, False), (7, 3, True), (4, 4, False), (0, 2, False)],
        3: [(11, 2, False), (8, 2, False), (7, 3, False)],
        0: [(7, 3, False)],
    }
    for replicas, each in shapes.items():
        for rows, batch, drop in each:
            data = {"rows": rows, "batch": batch, "drop_remainder": drop}
            yield case(f"end-{rows}-{batch}{'-drop' * drop}-{replicas}", [train()], data, train=replicas)
    yield case("end-sum", [train()], {"rows": 7}, loss="SUM", train=2)
    yield case("end-repeated", [train()], {"rows": 5, "repeat": 3}, train=3)


def steps() -> Iterator[Body]:
    yield case("steps-add-up", [train(steps=1), train(steps=2)])
    yield case("steps-max", [train(max_steps=2), train(max_steps=2), train(max_steps=3)])
    yield case("steps-max-beyond-the-data", [train(max_steps=100)])
    yield case("steps-wrong", [train(steps=0), train(steps=-1), train(max_steps=0), train(steps=1, max_steps=1)])


def evaluations() -> Iterator[Body]:
    for replicas in (0, 2, 3):
        calls = [train(steps=1), evaluate(1), evaluate()]
        yield case(f"evaluate-{replicas}", calls, {"rows": 11}, train=0, eval=replicas, weights=True)
    for rows, batch in ((4, 4), (7, 3)):
        data = {"rows": rows, "batch": batch}
        yield case(f"evaluate-end-{rows}-{batch}", [train(steps=1, train=0), evaluate(10)], data, eval=3)
    nothing = {**DATA, "rows": 0}
    yield case("evaluate-nothing", [train(steps=1), evaluate(data=nothing)], eval=2)
    yield case("evaluate-untrained", [evaluate()], EVEN, eval=2)
    yield case("evaluate-wrong", [train(steps=1), evaluate(0), evaluate(-1)], eval=2)


def predictions() -> Iterator[Body]:
    for replicas in (2, 3):
        yield case(f"predict-{replicas}", [train(steps=1), predict()], {"rows": 7}, train=replicas, eval=replicas)
    yield case("predict-batches", [train(steps=1), predict(yield_single_examples=False)], {"rows": 5})
    yield case("predict-untrained", [predict()], {"rows": 3})


def kept() -> Iterator[Body]:
    for optimizer, replicas in (("momentum", 2), ("momentum", 3), ("adagrad", 3)):
        calls = [train(steps=1), train(steps=1)]
        yield case(f"optimizer-{optimizer}-{replicas}", calls, train=replicas, optimizer=optimizer)
    for save_steps, keep in ((1, 5), (2, 5), (1, 2), (2, 1)):
        yield case(f"checkpoints-{save_steps}-{keep}", [train(steps=3)], save_steps=save_steps, keep=keep)
    calls = [train(steps=1), train(steps=1, train=3), evaluate(eval=3)]
    yield case("checkpoints-other-replicas", calls, EVEN, optimizer="momentum")
    yield case("checkpoints-without-a-strategy", [train(steps=1, train=0), train(steps=1), evaluate()])


def inputs() -> Iterator[Body]:
    for replicas in (0, 1, 2, 3):
        data = {"batch": 6, "rows": 24, "context": True}
        yield case(f"context-{replicas}", [train(steps=2), evaluate()], data, train=replicas, eval=replicas)
    yield case("context-with-a-remainder", [train(steps=1)], {"batch": 5, "context": True})
    for returns in ("nothing", "arrays", "features", "triple"):
        for replicas in (0, 2):
            data = {"returns": returns}
            yield case(f"returns-{returns}-{replicas}", [train(steps=1)], data, train=replicas)
    for replicas in (0, 2):
        yield case(f"without-loss-{replicas}", [train(steps=1)], train=replicas, without_loss=True)


def canned() -> Iterator[Body]:
    calls = [train(steps=2), evaluate()]
    for loss, replicas in (("default", 2), ("default", 3), ("SUM_OVER_BATCH_SIZE", 2), ("MEAN", 3)):
        settings = {"loss": loss, "train": replicas, "eval": replicas, "weights": loss == "MEAN"}
        yield case(f"canned-linear-{loss.lower()}-{replicas}", calls, EVEN, model="LinearRegressor", **settings)
    for model in ("LinearClassifier", "DNNRegressor", "DNNClassifier"):
        for replicas in (2, 3):
            settings = {"model": model, "loss": "SUM_OVER_BATCH_SIZE", "train": replicas, "eval": 2 * (replicas == 2)}
            more = [predict()] if replicas == 2 else []
            yield case(f"canned-{model.lower()}-{replicas}", [*calls, *more], EVEN, **settings)
    yield case("canned-momentum", calls, model="LinearRegressor", loss="default", optimizer="momentum", train=3)


def draw() -> list[Body]:
    """Returns all cases, in order."""
    groups = (losses, ends, steps, evaluations, predictions, kept, inputs, canned)
    return [body for group in groups for body in group()]


def releases_of(body: Body) -> tuple[str, ...]:
    """Returns the releases that a case is put to: 1.13.2 for some of each group; 2.16 and later have no estimators."""
    return RELEASES if body["id"] in OF_1_13 else RELEASES[1:]
