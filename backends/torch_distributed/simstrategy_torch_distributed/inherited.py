"""What lets queues, pipes and tensors travel to simulated ranks: `multiprocessing` shares their open files."""

from collections.abc import Sequence
from typing import ClassVar, final

__all__ = ["Inherited", "Spawning"]


@final
class Inherited:
    """An open file of the test's process, as the pickle of what uses it has it; `detach` gives the rank's own."""

    files: ClassVar[tuple[int, ...]] = ()
    """In a rank: its file descriptors, in the order in which the test's process has listed them."""

    def __init__(self, position: int) -> None:
        self.position = position

    @classmethod
    def receive(cls, files: Sequence[int]) -> None:
        """Takes the file descriptors of this rank."""
        cls.files = tuple(files)

    def detach(self) -> int:
        return self.files[self.position]


@final
class Spawning:
    """What `multiprocessing` receives while it pickles the arguments of a new process."""

    DupFd = Inherited

    def __init__(self) -> None:
        self.files: list[int] = []

    def duplicate_for_child(self, file: int) -> int:
        """Notes a file descriptor; returns its position."""
        self.files.append(file)
        return len(self.files) - 1
