"""Objects that are neither copied nor pickled: they belong to one strategy and one process."""

from typing import Any, ClassVar, Final, NoReturn

from simstrategy.errors import ContextError

__all__ = [
    "COPY_OF_STRATEGY",
    "DATASET",
    "DISTRIBUTED_DATA",
    "EXTENDED",
    "REPLICA_CONTEXT",
    "SCOPE",
    "STRATEGY",
    "NotCopied",
]

STRATEGY: Final = (
    "A strategy belongs to its process, and is not pickled. Make one where it is needed; copy.deepcopy(strategy) makes "
    "another one in this process."
)
COPY_OF_STRATEGY: Final = (
    "copy.copy of a Strategy is not supported: must only deepcopy it. Use copy.deepcopy(strategy)."
)
EXTENDED: Final = (
    "strategy.extended belongs to its strategy, and is neither copied nor pickled. Take that of another strategy: "
    "copy.deepcopy(strategy).extended."
)
REPLICA_CONTEXT: Final = (
    "A replica context belongs to its replica, and is neither copied nor pickled. Ask for it where it is needed: "
    "get_replica_context()."
)
SCOPE: Final = "A scope belongs to its strategy, and is neither copied nor pickled. Make another one: strategy.scope()."

DATASET: Final = (
    "A dataset holds the functions of its steps, and is not pickled. Make it in the process that reads it, such as by "
    "a function at the top level of a file."
)
DISTRIBUTED_DATA: Final = (
    "Distributed data belong to their strategy and process, and are neither copied nor pickled. Distribute the data "
    "again, or begin another pass: iter(distributed)."
)
"""The texts of errors; this one is for iterators too, and for those of a framework."""


class NotCopied:
    """The base of what raises ContextError from `copy.copy`, `copy.deepcopy` and `pickle.dumps`.

    A copy would share devices, connections and tasks with the first one, and on some backends alone.  Clauses: C-6
    """

    __slots__ = ()
    not_copied: ClassVar[str]
    """The text of the error."""

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise ContextError(self.not_copied)
