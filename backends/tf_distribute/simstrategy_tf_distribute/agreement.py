"""Judges a program under MirroredStrategy with several numbers of replicas by the laws of the core.

Every run adds in rank order. The effect of rounding is measured: the first number of replicas runs again, with its data
and the initial values of its variables changed by one ulp.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from simstrategy.check import Report, Row
from simstrategy.check.annotations import foreign_annotation
from simstrategy.check.executed import require_arguments, script_of
from simstrategy.check.judging import judge_runs
from simstrategy.check.laws import OF_RUNS, OF_SCRIPTS
from simstrategy.check.laws.in_processes import in_processes
from simstrategy.check.runs import Settings
from simstrategy.errors import InvalidArgument, Unsupported
from simstrategy.strategy import Semantics
from simstrategy_tf_distribute.multi_worker.runs import worker_runs
from simstrategy_tf_distribute.runs import TensorFlowRuns

__all__ = ["replicas_agree"]

_OTHERS: Final = {
    "ParameterServerStrategy": "keeps its variables on parameter servers, and its replicas run without waiting",
    "CentralStorageStrategy": "keeps one copy of each variable",
    "TPUStrategy": "needs TPUs",
    "OneDeviceStrategy": "has one replica",
}
"""Strategies of TensorFlow that this check does not run, and why their results are others."""

_UNDECLARED: Final = (
    "the program makes no variable in the strategy's scope that is the same on all replicas. Make its variables under "
    "`with strategy.scope():`"
)
_UNEQUAL: Final = (
    "combine what replicas write, as by an aggregation; where each replica keeps a value of its own, give the "
    "variable VariableSynchronization.ON_READ. BatchNormalization of Keras leaves its moving statistics equal with "
    "synchronized=True"
)

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
    reset (`keras.utils.clear_session`). replicas: the first number is the reference of the law of replicas. settings:
    its workers are numbers of processes, each with one replica, under the real MultiWorkerMirroredStrategy. settings,
    laws, require, on_row: as `simstrategy.check.check` gives them to a checker.

    Raises InvalidArgument for no numbers, and with workers for a program that is no function of a file; Unsupported for
    a parameter of the type of a strategy whose variables or replicas are not mirrored here; and BackendUnavailable if
    TensorFlow has started with fewer devices.

    Source of what Keras and MirroredStrategy do: Keras 3.15.1 and TensorFlow 2.21.0, as measured. Clauses: J-38,
    J-39, J-44 to J-56.
    """
    if not replicas or not callable(program):
        raise InvalidArgument("replicas_agree takes a program(strategy) and at least one number of replicas.")
    _require_mirrored(program, in_processes=bool(settings.workers))
    require_arguments(program, [*replicas, *settings.workers])
    settings = settings._replace(undeclared=_UNDECLARED, unequal=_UNEQUAL)
    runs = TensorFlowRuns(program, replicas, settings, seed)

    def workers(runs: TensorFlowRuns) -> Iterator[Row]:
        return in_processes(runs, worker_runs(runs), with_state="state" in laws)

    named = OF_RUNS if script_of(program) is None else OF_SCRIPTS
    return judge_runs(runs, named, laws, require, on_row, workers=workers)


_IN_PROCESSES: Final = ("MultiWorkerMirroredStrategy", "CollectiveAllReduceStrategy")
"""The name of the strategy of several processes, and that of its class."""


def _require_mirrored(program: Callable[[Any], Any], *, in_processes: bool) -> None:
    """Raises Unsupported for a program whose parameter has the type of a strategy that this check does not run."""
    found = foreign_annotation(program)
    text = "" if found is None else found.text
    for name, why in _OTHERS.items():
        if name in text:
            raise Unsupported(
                f"The program takes a {name}, which {why}. This check runs programs under MirroredStrategy. Annotate "
                f"the parameter with tf.distribute.Strategy, if the program may run under that one."
            )
    if any(name in text for name in _IN_PROCESSES) and not in_processes:
        raise Unsupported(
            "The program takes a MultiWorkerMirroredStrategy, which runs in several processes. Give numbers of them, "
            "as in --workers 2,3 or workers=[2, 3]: expected is what as many replicas in one process give."
        )
