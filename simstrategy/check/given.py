"""The settings of a check, read together: which laws they choose, and whether they contradict each other."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from simstrategy.check.law_table import BY_SETTING, LAWS, NAMED
from simstrategy.check.laws import OF_REPEATED
from simstrategy.check.openings import LINEAR
from simstrategy.check.remarks import require_remarks
from simstrategy.check.study import ScheduleMaker
from simstrategy.check.validation import require_lists
from simstrategy.errors import InvalidArgument
from simstrategy.schedules import Every, InOrder
from simstrategy.strategy import Semantics

__all__ = ["BACKENDS", "Given"]

BACKENDS: Final = ("sim",)
"""The default of `check`."""

_SETTINGS: Final = {"cut": "vary"}
"""The setting that gives the runs of a law, where it has another name."""


class Given(NamedTuple):
    """The settings of a check, as they were given."""

    backends: Sequence[str]
    replicas: Sequence[int]
    workers: Sequence[int]
    schedules: Sequence[ScheduleMaker | Every]
    semantics: Semantics
    compiled: bool
    laws: Sequence[str]
    without: Sequence[str]
    same_on: Sequence[str]
    order: str
    exempt: Mapping[str, str]
    vary: Mapping[str, Sequence[Any]]
    require: Sequence[str]

    @property
    def asked(self) -> set[str]:
        """The names of the laws that were asked for by name."""
        return {*self.laws, *self.same_on}

    def judged(self) -> list[str]:
        """Returns the names of the laws of `NAMED` that are judged, in their order.

        Raises InvalidArgument for a setting of a wrong type or an unknown name, and for settings that contradict.
        """
        lists = {name: value for name, value in self._asdict().items() if name in _LISTS}
        require_lists(**lists, semantics=[self.semantics])
        require_remarks(self.require)
        for name in (*self.laws, *self.without):
            if name not in NAMED and name != "all":
                raise InvalidArgument(f"There is no law {name!r}: choose from {', '.join(NAMED)}, or all.")
        if self.same_on:
            self._require_the_same_runs()
            return [name for name in NAMED if name in self.same_on]
        added = {name for name in NAMED if LAWS[name].default} | {*(NAMED if "all" in self.laws else self.laws)}
        left_out = {*(NAMED if "all" in self.without else self.without)}
        return [name for name in NAMED if name in added and name not in left_out]

    def _require_the_same_runs(self) -> None:
        """Raises InvalidArgument unless `same_on` names exactly what the other settings give to compare."""
        known = [name for name in LAWS if name in BY_SETTING or name in NAMED]
        for name in self.same_on:
            if name not in known:
                raise InvalidArgument(
                    f"same_on names on what a result must be the same, and {name!r} is none of {', '.join(known)}. "
                    f"Correct it."
                )
        if self.laws or self.without:
            raise InvalidArgument(
                "same_on names every law that is judged, so laws and without (--laws and --not) have nothing to add or "
                "to leave out: give same_on alone, or leave it out."
            )
        for name, given in (self._runs() | {"replicas": len({*self.replicas}) > 1}).items():
            if name in self.same_on and not given:
                raise InvalidArgument(f"same_on names {name!r}, which has nothing to compare: {LAWS[name].needs}.")
            if given and name not in (*self.same_on, "replicas"):
                setting = _SETTINGS.get(name, name)
                raise InvalidArgument(
                    f"The setting {setting} gives runs to compare, and same_on does not name {name!r}: name it, or "
                    f"leave {setting} out."
                )

    def _runs(self) -> dict[str, bool]:
        """Returns for each law whose runs a setting chooses whether there are any."""
        return {
            "backends": len({*self.backends}) > 1,
            "schedules": list(self.schedules) != [InOrder],
            "workers": bool(self.workers),
            "cut": bool(self.vary),
            "compiled": self.compiled,
        }

    def judged_of_runs(self) -> list[str]:
        """Returns the names of the laws that may be judged of a program for another library's strategy.

        Raises InvalidArgument for settings that such a strategy does not have, and for a law that needs one of them.
        """
        others = {name: bool(value) for name, value in self._asdict().items() if name in _OF_OURS}
        others |= {"backends": tuple(self.backends) != BACKENDS, "semantics": self.semantics is not Semantics.TF1_15}
        others |= {"schedules": self._runs()["schedules"], "order": self.order != LINEAR}
        wrong = [name for name, changed in others.items() if changed]
        if wrong:
            raise InvalidArgument(
                f"The program takes another library's strategy, which has no {' and no '.join(wrong)} to choose: leave "
                f"that out. Give replicas, workers, laws, vary, exempt and require only. To run on simstrategy's "
                f"backends, let it take a simstrategy.Strategy."
            )
        known = {*OF_REPEATED, "all", "workers"}
        named = [name for name in (*self.laws, *self.same_on) if name not in known]
        if named:
            raise InvalidArgument(
                f"The program takes another library's strategy, and the law of {named[0]} needs one of "
                f"simstrategy's: leave it out. The laws of such programs are among {', '.join(OF_REPEATED)}."
            )
        return [name for name in self.judged() if name in OF_REPEATED]


_LISTS: Final = frozenset({"backends", "replicas", "workers", "schedules", "laws", "without", "same_on", "require"})
_OF_OURS: Final = frozenset({"compiled"})
"""Settings that are empty by default and that simstrategy's strategies alone have."""
