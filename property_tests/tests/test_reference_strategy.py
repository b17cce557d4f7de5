"""The oracle is examined too: TensorFlow's own MirroredStrategy runs the kit's programs, and has to come to the same.

Where it does not, TensorFlow errs in a way that is known, or refuses what it should not: each by its words.
"""

import warnings

import pytest

pytest.importorskip("tensorflow")
pytest.importorskip("simstrategy_tf_distribute")

from hypothesis import given, seed

from simstrategy_conformance.checking import options
from simstrategy_conformance.generate import programs
from simstrategy_conformance.observe import difference, host
from simstrategy_conformance.oracle import run
from simstrategy_conformance.profiles import Profile
from simstrategy_conformance.script import function_of, script_text
from simstrategy_conformance.subject import Subject

# Source: TensorFlow 2.21.0, as measured.
KNOWN = (
    "Inputs to batch_reduce_to must be either all on the host or all on the compute devices",  # several int32 leaves
    "Could not convert from `tf.VariableAggregation` VariableAggregationV2.NONE",  # raised after it has written
)
BODY = ("all_reduce", "all_reduce", "all_gather", "merge", "write", "write", "read", "compute", "give")


def shares_in_single_precision(program):
    """Tells whether a Python number is shared out over a float64 variable: TensorFlow divides it in float32."""
    totals = [
        number
        for number, one in enumerate(program.variables)
        if (one.synchronization, one.aggregation, one.dtype) == ("ON_READ", "SUM", "float64")
    ]
    return any(one.kind == "assign" and one.variable in totals for one in program.after)


@pytest.fixture(scope="module")
def references():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a framework says when it is first imported
        from simstrategy_tf_distribute import open_reference

        return {replicas: open_reference("mirrored", replicas) for replicas in (1, 2, 3, 4)}


def asked(reference, function, backend):
    """Returns what a program comes to under the real strategy, or the text of its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return host(reference.run_program(function), backend), None
        except Exception as error:  # noqa: BLE001 - TensorFlow's errors are told from each other by their words
            return None, f"{type(error).__name__}: {error}"


@pytest.mark.slow
def test_the_real_mirrored_strategy_comes_to_what_the_oracle_computes(references):
    subject = Subject("tensorflow", profile=Profile("witness", examples=40, replicas_max=4))
    rules = {"profiles": ("TF2",), "workers_max": 1, "draws": False, "stops": False, "body": BODY}
    known, agreed = [], []

    @given(programs(subject, **rules).filter(lambda program: not shares_in_single_precision(program)))
    def compare(program):
        function, _ = function_of(program)
        expected = run(program)
        found, refused = asked(references[program.replicas], function, subject.open(program.replicas))
        if refused is not None:
            assert any(text in refused for text in KNOWN), f"{refused}\n{script_text(program, 'tensorflow')}"
            known.append(program)
            return
        assert expected.error is None, script_text(program, "tensorflow")
        told = difference(expected.results[0], found)
        assert told is None, f"{told}\n{script_text(program, 'tensorflow')}"
        agreed.append(program)

    subject.open(1)
    options(subject)(seed(11)(compare))()
    subject.close()
    assert len(agreed) > 3 * len(known)
