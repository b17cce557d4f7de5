"""What lets queues, pipes and tensors travel to spawned processes: `multiprocessing` shares their open files."""

from collections.abc import Sequence
from typing import ClassVar, final

__all__ = ["Inherited"]


@final
class Inherited:
    """An open file of the program, as the pickle of what uses it has it; `detach` gives the new process's own."""

    files: ClassVar[tuple[int, ...]] = ()
    """In a spawned process: its file descriptors, in the order in which the program has listed them."""

    def __init__(self, position: int) -> None:
        self.position = position

    @classmethod
    def receive(cls, files: Sequence[int]) -> None:
        """Takes the file descriptors of this process."""
        cls.files = tuple(files)

    def detach(self) -> int:
        return self.files[self.position]
