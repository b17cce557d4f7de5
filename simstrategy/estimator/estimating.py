"""`Estimator`: trains, evaluates and predicts with a model function, from checkpoint to checkpoint.

A training, an evaluation and a prediction each have variables of their own; what lasts is in the folder.
Clauses: Y-1 to Y-9.
"""

import copy
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, final

import numpy as np

from simstrategy import tree
from simstrategy.errors import InvalidArgument, InvalidType, Unsupported
from simstrategy.estimator.folder import Folder, Saving, read
from simstrategy.estimator.inputs import batches
from simstrategy.estimator.model import Model
from simstrategy.estimator.specs import RunConfig, whole
from simstrategy.estimator.variables import ModelVariables
from simstrategy.short_repr import short_repr
from simstrategy.strategy import Strategy, group_of

__all__ = ["Estimator"]


@final
class Estimator:
    """Trains, evaluates and predicts with a model function.

    model_fn: a function of (features, labels, mode, ctx), called in each replica in every step with its batch, nests of
    arrays [batch, …], a mode "train", "eval" or "infer", and a `ModelContext`; returns an `EstimatorSpec`. params: is
    `ctx.params`. Raises InvalidType. Source: `tf.estimator.Estimator` of TensorFlow 1.13.2 and 1.15.5, as measured.

    >>> import simstrategy as ss
    >>> def model_fn(features, labels, mode, ctx):
    ...     w = ctx.variable("w", 0.0)
    ...     error = features * w.value() - labels
    ...     descent = ss.estimator.Optimizer(lambda xp, gradient, value: (value - 0.5 * gradient,))
    ...     slope = ctx.xp.mean(2 * error * features)
    ...     loss = ctx.xp.mean(error * error)
    ...     return ss.estimator.EstimatorSpec(mode, loss=loss, gradients=[(slope, w)], optimizer=descent)
    >>> def input_fn():  # a batch of it is one replica's, not that of all
    ...     return ss.data.Dataset.from_tensor_slices(([1.0, 1.0, 1.0], [2.0, 2.0, 2.0])).batch(1)
    >>> strategy = ss.Strategy.mirrored("sim", replicas=2)
    >>> estimator = ss.estimator.Estimator(model_fn, ss.estimator.RunConfig(train_distribute=strategy))
    >>> _ = estimator.train(input_fn, hooks=[lambda step, loss: print(step, loss)])
    1 4.0
    >>> estimator.evaluate(input_fn)
    {'loss': np.float32(0.0), 'global_step': np.int64(1)}
    """

    def __init__(self, model_fn: Callable[..., Any], config: RunConfig | None = None, params: Any = None) -> None:
        if not callable(model_fn):
            raise InvalidType(f"model_fn is a function of (features, labels, mode, ctx), got {short_repr(model_fn)}.")
        if not isinstance(config, (RunConfig, type(None))):
            raise InvalidType(f"config is an ss.estimator.RunConfig, got {short_repr(config)}.")
        self.config = RunConfig() if config is None else config
        """What the Estimator was made with."""
        path = self.config.model_dir
        if path is None:
            path = tempfile.mkdtemp(prefix="simstrategy-")
            weakref.finalize(self, shutil.rmtree, path, ignore_errors=True)
        self._folder = Folder(path, self.config.keep_checkpoint_max)
        self._model_fn, self._params = model_fn, params

    @property
    def model_dir(self) -> str:
        """The folder of the checkpoints."""
        return str(self._folder.path)

    def latest_checkpoint(self) -> str | None:
        """Returns the file of the last checkpoint; None where there is none."""
        latest = self._folder.latest()
        return None if latest is None else str(latest)

    def train(
        self,
        input_fn: Callable[..., Any],
        steps: int | None = None,
        max_steps: int | None = None,
        hooks: Sequence[Callable[[int, Any], None]] = (),
    ) -> "Estimator":
        """Trains until the input ends, or for a number of steps, from the last checkpoint on; returns itself.

        input_fn: returns a dataset of (features, labels), nests of arrays [batch of one replica, …]; it receives the
        `InputContext` if it has a parameter `input_context`. steps: more than there were; max_steps: in all. hooks:
        called after each step with the global step and the loss []. Raises InvalidArgument and InvalidType, and
        what the model function raises. Clauses: Y-1 to Y-7.
        """
        if steps is not None and max_steps is not None:
            raise InvalidArgument("Can not provide both steps and max_steps. Leave one out.")
        for name, value in (("steps", steps), ("max_steps", max_steps)):
            _ = value is None or whole(name, value)
        latest = self._folder.latest()
        saved = None if latest is None else read(latest)
        with self._model(self.config.train_distribute, saved, latest) as model:
            last = model.global_step + steps if steps is not None else max_steps
            if last is not None and model.global_step >= last:
                return self
            saving = Saving(
                self._folder, self.config.save_checkpoints_steps, lambda: (model.variables.values(), model.global_step)
            )
            for features, labels in batches(model.strategy, self.config.train_distribute, input_fn):
                loss = model.train(features, labels, saving.begin)
                saving.after(model.global_step)
                for hook in hooks:
                    hook(model.global_step, loss[()])
                if model.global_step == last:
                    break
            saving.end(model.global_step)
        return self

    def evaluate(
        self, input_fn: Callable[..., Any], steps: int | None = None, checkpoint_path: str | None = None
    ) -> dict[str, Any]:
        """Returns the metrics of a checkpoint as NumPy numbers by name, with "loss" and "global_step".

        input_fn: as of `train`. steps: None reads the whole input. checkpoint_path: default the last one's. Raises
        InvalidArgument without a checkpoint, and where there is no whole step of input. Clauses: Y-8.
        """
        _ = steps is None or whole("steps", steps)
        file = self._checkpoint(checkpoint_path)
        with self._model(self.config.eval_distribute, read(file), file) as model:
            totals: Any = None
            found = batches(model.strategy, self.config.eval_distribute, input_fn)
            for features, labels in islice(found, steps):
                totals, metrics = model.evaluate(features, labels, totals)
            if totals is None:
                raise InvalidArgument(
                    f"There is nothing to evaluate: input_fn gave no batch for each of the "
                    f"{model.strategy.num_replicas_in_sync} replicas. Give it more rows, or smaller batches."
                )
            return {**model.means(totals, metrics), "global_step": np.int64(model.global_step)}

    def predict(
        self, input_fn: Callable[..., Any], checkpoint_path: str | None = None, yield_single_examples: bool = True
    ) -> Iterator[Any]:
        """Yields the predictions of each example, a nest of host arrays […], or with False of each batch [batch, …].

        Nothing is distributed. input_fn: returns a dataset of features, or of (features, labels), of which the labels
        are left out. Raises as `evaluate` does. Clauses: Y-9.
        """
        file = self._checkpoint(checkpoint_path)
        with self._model(None, read(file), file) as model:
            for features, _ in batches(model.strategy, None, input_fn):
                found = model.predict(features)
                if not yield_single_examples:
                    yield found
                    continue
                leaves, structure = tree.flatten(found)
                for row in zip(*leaves, strict=True):
                    yield tree.unflatten(structure, list(row))

    def _checkpoint(self, given: str | None) -> Path:
        found = self._folder.latest() if given is None else Path(given)
        if found is None:
            raise InvalidArgument(
                f"There is no checkpoint in {self.model_dir}. Train first, or name a checkpoint_path."
            )
        return found

    @contextmanager
    def _model(self, distribute: Strategy | None, saved: Any, source: Path | None) -> Iterator[Model]:
        """Makes a model on another strategy of the same settings, which has no variables, and closes it."""
        strategy = self._single() if distribute is None else copy.deepcopy(distribute)
        try:
            if group_of(strategy).kind.spans_processes:
                raise Unsupported("An Estimator trains in one process. Use a mirrored or central_storage strategy.")
            with strategy.scope():
                model = Model(self._model_fn, strategy, self._params, ModelVariables(strategy, saved, source))
                yield model
        finally:
            strategy.close()
            if distribute is None:
                group_of(strategy).backend.close()

    def _single(self) -> Strategy:
        given = (self.config.train_distribute, self.config.eval_distribute)
        named = [group_of(one).backend.name for one in given if one is not None]
        return Strategy.one_device(self.config.backend or (named[0] if named else "sim"))
