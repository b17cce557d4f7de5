"""Puts cases to the TensorFlow of this interpreter, and writes down what it answers.

    python ask.py CASES ANSWERS

CASES and ANSWERS are files of one JSON object a line: a case, and `{"id", "release", "answer"}`. Runs on Python 3.7 as
well as on today's. It judges no answer. An exception that TensorFlow raises is an answer; any other ends the process.
"""

import json
import sys

import estimators
import inputs
import kinds
from arrays import error
from releases import TensorFlow

KINDS = {
    "reduce": kinds.reduce,
    "all_reduce": kinds.all_reduce,
    "run": kinds.run,
    "variable": kinds.variable,
    "convert": kinds.convert,
    "split": inputs.split,
    "input_context": inputs.input_context,
    "autoshard": inputs.autoshard,
    "make_dataset_iterator": inputs.make_dataset_iterator,
    "make_input_fn_iterator": inputs.make_input_fn_iterator,
    "estimator": estimators.estimator,
}
GRAPHS = ("estimator",)
"""Kinds that are asked as programs of graphs, with the behaviour that a release has where nothing is switched on."""


def answer(tensorflow, case):
    """Returns what TensorFlow answers to a case. Raises KeyError for a kind that nobody knows how to ask."""
    put = KINDS[case["kind"]]
    try:
        return put(tensorflow, case)
    except Exception as raised:  # noqa: BLE001 - whatever TensorFlow raises is what it answers
        return error(raised)


def main(cases, answers):
    with open(cases, encoding="utf-8") as lines:
        asked = [json.loads(line) for line in lines]
    tensorflow = TensorFlow(graphs=any(case["kind"] in GRAPHS for case in asked))
    with open(answers, "w", encoding="utf-8") as file:
        for case in asked:
            told = {"id": case["id"], "release": tensorflow.release, "answer": answer(tensorflow, case)}
            # Line by line: if TensorFlow brings the process down, the last line names the case before.
            print(json.dumps(told), file=file, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
