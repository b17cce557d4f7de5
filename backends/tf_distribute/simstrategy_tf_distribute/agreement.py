"""Judges a program under MirroredStrategy with several numbers of replicas by the laws of the core.

Every run adds in rank order. The effect of rounding is measured: the first number of replicas runs again, with its data
and the initial values of its variables changed by one ulp.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from simstrategy.check import Report, Row
from simstrategy.check.annotations import foreign_annotation
from simstrategy.check.judging import judge_runs
from simstrategy.check.runs import Settings
from simstrategy.errors import InvalidArgument, Unsupported
from simstrategy.strategy import Semantics
from simstrategy_tf_distribute.runs import TensorFlowRuns

__all__ = ["replicas_agree"]

_OTHERS: Final = {
    "ParameterServerStrategy": "keeps its variables on parameter servers, and its replicas run without waiting",
    "CentralStorageStrategy": "keeps one copy of each variable",
    "MultiWorkerMirroredStrategy": "runs in several processes",
    "TPUStrategy": "needs TPUs",
    "OneDeviceStrategy": "has one replica",
}
"""Strategies of TensorFlow that this check does not run, and why their results are others."""

_SETTINGS: Final = Settings(Semantics.TF2, timeout_s=600.0, allow_errors=False)


def replicas_agree(
    program: Callable[[Any], Any],
    *,
    replicas: Sequence[int] = (1, 2, 4),
    seed: int = 0,
    settings: Settings = _SETTINGS,
    laws: Sequence[str] = ("replicas", "state"),
    require: Sequence[str] = (),
    on_row: Callable[[Row], None] = lambda row: None,
) -> Report:
    """Runs `program(strategy)` under the real MirroredStrategy with each number of replicas, and judges the runs.

    program: returns what is compared: a nest of models, histories, distributed values, arrays and numbers. The
    variables that it makes in the strategy's scope are compared as well. Before each run Keras's names and seeds are
    reset (`keras.utils.clear_session`). replicas: the first number is the reference of the law of replicas. settings,
    laws, require, on_row: as `simstrategy.check.check` gives them to a checker. Raises InvalidArgument for no numbers,
    Unsupported for a parameter of the type of a strategy whose variables or replicas are not mirrored here, and
    BackendUnavailable if TensorFlow has started with fewer devices.

    Source of what Keras and MirroredStrategy do: Keras 3.15.1 and TensorFlow 2.21.0, as measured. Clauses: J-50 to
    J-56.
    """
    if not replicas or not callable(program):
        raise InvalidArgument("replicas_agree takes a program(strategy) and at least one number of replicas.")
    _require_mirrored(program)
    return judge_runs(TensorFlowRuns(program, replicas, settings, seed), laws, require, on_row)


def _require_mirrored(program: Callable[[Any], Any]) -> None:
    """Raises Unsupported for a program whose parameter has the type of a strategy of `_OTHERS`."""
    found = foreign_annotation(program)
    for name, why in _OTHERS.items():
        if found is not None and name in found.text:
            raise Unsupported(
                f"The program takes a {name}, which {why}. This check runs programs under MirroredStrategy. Annotate "
                f"the parameter with tf.distribute.Strategy, if the program may run under that one."
            )
