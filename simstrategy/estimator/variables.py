"""The variables of a model by name: made by the model function's first call, from a checkpoint where there is one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, final

from simstrategy.errors import InvalidArgument
from simstrategy.estimator.folder import GLOBAL_STEP, Saved
from simstrategy.strategy import Strategy, Variable, group_of

__all__ = ["ModelVariables"]


@final
class ModelVariables:
    """Variables of one strategy.  saved: what they begin with, from the file `source`; None for a first training."""

    def __init__(self, strategy: Strategy, saved: Saved | None, source: Path | None) -> None:
        self._strategy, self._saved, self._source = strategy, saved, source
        self._made: dict[str, Variable] = {}
        self.global_step = 0 if saved is None else int(saved[GLOBAL_STEP])
        """That of the checkpoint; 0 without one."""

    def get(self, name: str, initial_value: Any, settings: Mapping[str, Any]) -> Variable:
        """Returns the variable of a name, made if it is new: see `ModelContext.variable`."""
        if name == GLOBAL_STEP:
            raise InvalidArgument(f"{GLOBAL_STEP} is the name of the number of steps. Give the variable another name.")
        if name not in self._made:
            if self._saved is not None:
                initial_value = self._restored(name, initial_value, self._saved)
            # Every replica comes here before one goes on, and all receive one variable.
            self._made[name] = Variable(initial_value, name=name, **settings)
        return self._made[name]

    def values(self) -> Saved:
        """Returns host arrays [shape] by name: what a checkpoint has."""
        return self._strategy.save(list(self._made.values()))

    def _restored(self, name: str, initial_value: Any, saved: Saved) -> Any:
        group = group_of(self._strategy)
        shape, dtype, _ = group.spec(group.xp.asarray(initial_value))
        if name not in saved:
            raise InvalidArgument(
                f"The checkpoint {self._source} has no variable {name!r}; it has {', '.join(sorted(saved))}. Train the "
                f"changed model in another model_dir."
            )
        found = saved[name]
        if (found.shape, found.dtype.name) != (tuple(shape), dtype):
            raise InvalidArgument(
                f"The checkpoint {self._source} has {name!r} as {found.dtype}{list(found.shape)}, and the model makes "
                f"it {dtype}{list(shape)}. Train the changed model in another model_dir."
            )
        return found
