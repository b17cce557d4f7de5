"""Objects that are neither copied nor pickled: they belong to one strategy and one process."""

from typing import Any, ClassVar, Final, NoReturn

from simstrategy.errors import ContextError

__all__ = ["DISTRIBUTED_DATA", "NotCopied"]

DISTRIBUTED_DATA: Final = (
    "Distributed data belong to their strategy and process, and are neither copied nor pickled. Distribute the data "
    "again, or begin another pass: iter(distributed)."
)
"""What `NotCopied.not_copied` is for datasets and iterators, those of a framework too."""


class NotCopied:
    """The base of what raises ContextError from `copy.copy`, `copy.deepcopy` and `pickle.dumps`.

    A copy would share devices, connections and tasks with the first one, and on some backends alone.  Clauses: C-6
    """

    __slots__ = ()
    not_copied: ClassVar[str]
    """The text of the error."""

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise ContextError(self.not_copied)
