"""Seeds for the replicas of one strategy: another one for each replica, label and call, the same in every run."""

from typing import final

from simstrategy.digests import blake2b
from simstrategy.errors import CannotCompile

__all__ = ["Seeds"]


@final
class Seeds:
    """Draws seeds from the strategy's seed alone.

    >>> Seeds(0).draw("noise", 1) == Seeds(0).draw("noise", 1) != Seeds(0).draw("noise", 2)
    True
    """

    __slots__ = ("_drawn", "_seed")

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._drawn: dict[tuple[str, int], int] = {}

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the seeds that were drawn, in order, each once."""
        return tuple(dict.fromkeys(label for label, _ in self._drawn))

    def draw(self, label: str, rank: int, *, compiled: bool = False) -> int:
        """Returns a new seed in range(2**64) for a label and a replica; see `ReplicaContext.seed`.

        Raises CannotCompile in a compiled step, whose replicas are one program.
        """
        if compiled:
            raise CannotCompile(
                f"A compiled step asked for the seed {label!r}, which is another for every replica and call. Draw it "
                f"outside, one for each replica, and pass the values as an argument."
            )
        count = self._drawn.get((label, rank), 0)
        self._drawn[label, rank] = count + 1
        text = f"{self._seed}/{rank}/{count}/{label}"
        return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")

    def forget(self) -> None:
        """Begins anew, as in a new strategy: for planted faults."""
        self._drawn.clear()
