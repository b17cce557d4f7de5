"""Draws programs of torchmetrics: a metric over rows that the ranks share out, in batches, and its value over all.

The documentation states that states are combined over the processes when a value is computed, so that the value is the
one of all rows: lightning.ai/docs/torchmetrics, on metrics in distributed data parallel mode.
"""

from typing import Final

from ci.campaigns.upstream.programs import Library, calls_of

__all__ = ["LIBRARY"]

CALLS: Final = calls_of("torchmetrics")
FAMILIES: Final = {kind: calls for kind, calls in CALLS.items() if kind not in {"classification", "rows"}}
OF_PAIRS: Final = ("BLEUScore", "CHRFScore", "TranslationEditRate", "SacreBLEUScore")
"""Texts with a list of references each."""


def draw(random):
    """Returns subject, title and body of a program."""
    kind = random.choice(["binary", "classes", "labels", *FAMILIES, "regression", "outputs"])
    metric = _classification(random, kind) if kind in ("binary", "classes", "labels") else random.choice(FAMILIES[kind])
    rows, batch = random.randint(6, 14), random.choice([2, 3, 4, 5])
    how, way = random.choice(["turns", "blocks"]), random.choice(["update", "update", "forward", "twice", "wrapped"])
    lines, arguments = CALLS["rows"][kind]["made"], CALLS["rows"][kind]["given"]
    arguments = arguments.replace("{target}", "[target[one]]" if metric.startswith(OF_PAIRS) else "target[one]")
    made = f"torchmetrics.{metric}"
    if way == "wrapped" and kind in ("regression", "binary", "classes", "values"):
        made = random.choice(
            [
                f"torchmetrics.MetricCollection({{'one': {made}, 'two': {made}}})",
                f"torchmetrics.MinMaxMetric({made})",
                f"{made} + 1.0",
                f"torchmetrics.wrappers.Running({made}, window=100)",
                f"torchmetrics.MetricTracker({made})",
            ]
        )
    tracked = "MetricTracker" in made
    call = "metric" if way == "forward" or tracked else "metric.update"
    body = [
        f"data = drawn({random.randrange(10**6)})",
        lines.format(rows=rows),
        f"metric = {made}",
        *(["metric.set_dtype(torch.float64)"] if "+" not in made else []),
        *(["metric.increment()"] if tracked else []),
        f"for at in shared({how!r}, {rows}, {batch}):",
        f"    {call}({arguments})",
    ]
    if way == "twice":
        body += ["metric.compute()", f"for at in shared({how!r}, {rows}, {batch}):", f"    {call}({arguments})"]
    title = f"{metric} of {rows} rows, {how}, batches of {batch}, {way}"
    return metric, title, "\n".join([*body, "return metric.compute()"])


def _classification(random, kind):
    name = random.choice(CALLS["classification"])
    task, words = {
        "binary": ("binary", []),
        "classes": ("multiclass", ["num_classes=3"]),
        "labels": ("multilabel", ["num_labels=3"]),
    }[kind]
    if kind != "binary" and random.random() < 0.6:
        words.append(f"average={random.choice(['macro', 'micro', 'weighted', 'none'])!r}")
    if random.random() < 0.3:
        words.append("ignore_index=1")
    if name in ("AUROC", "AveragePrecision", "PrecisionAtFixedRecall", "LogAUC") and random.random() < 0.5:
        words.append("thresholds=5")
    words += {"FBetaScore": ["beta=0.5"], "PrecisionAtFixedRecall": ["min_recall=0.5"]}.get(name, [])
    return f"{name}(task={task!r}{''.join(f', {word}' for word in words)})"


LIBRARY = Library("torchmetrics", "torchrun", (1, 2, 3), "", draw, ("torchmetrics", "torch"))
