"""Which built-in errors users catch ours by.  No wording: that is tested where each is raised."""

import pytest

from simstrategy import errors

BUILT_IN = {
    "CannotCompile": (RuntimeError,),
    "ContextError": (RuntimeError,),
    "InvalidArgument": (ValueError,),
    "InvalidType": (TypeError,),
    "Unsupported": (NotImplementedError,),
    "ReplicasBlocked": (RuntimeError,),
    "ReplicasDisagree": (RuntimeError, ValueError),
    "PeerFailed": (RuntimeError,),
    "ContractViolation": (RuntimeError,),
    "BackendNotFound": (LookupError,),
    "BackendUnavailable": (RuntimeError,),
    "OutOfRangeError": (IndexError,),
    "Difference": (AssertionError,),
    "NotJudged": (AssertionError,),
}


@pytest.mark.parametrize("name", BUILT_IN)
def test_an_error_is_ours_and_the_built_in_that_tensorflow_users_catch(name):
    error = vars(errors)[name]
    assert issubclass(error, errors.SimStrategyError)
    for kind in BUILT_IN[name]:
        assert issubclass(error, kind)
        with pytest.raises(kind):
            raise error("text")


def test_every_public_class_is_in_the_table_or_a_base_or_a_warning():
    warnings = {name for name in errors.__all__ if issubclass(vars(errors)[name], Warning)}
    assert warnings == {
        "SimStrategyWarning",
        "CallSitesDiffer",
        "GeneratorsMixed",
        "MirroredDiverged",
        "OneReplicasShare",
        "ReplicaWaits",
    }
    assert set(errors.__all__) - warnings - {"SimStrategyError"} == set(BUILT_IN)


def test_warnings_are_user_warnings_and_can_be_filtered_together():
    assert issubclass(errors.SimStrategyWarning, UserWarning)
    assert issubclass(errors.CallSitesDiffer, errors.SimStrategyWarning)
    assert issubclass(errors.MirroredDiverged, errors.SimStrategyWarning)


def test_each_tensorflow_error_stands_for_one_of_ours_that_its_users_catch():
    assert all(issubclass(ours, errors.SimStrategyError) for ours in errors.TENSORFLOW_ERRORS.values())
    for name, built_in in {"ValueError": ValueError, "TypeError": TypeError, "RuntimeError": RuntimeError}.items():
        assert issubclass(errors.TENSORFLOW_ERRORS[name], built_in)
