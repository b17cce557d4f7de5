"""The real tf.distribute strategies as a reference, and our checks inside them: the public names.

The import opens nothing: `open_reference` opens a strategy, and `OrderedReduction` is an argument of one.
"""

from simstrategy_tf_distribute.agreement import replicas_agree
from simstrategy_tf_distribute.reduction import OrderedReduction
from simstrategy_tf_distribute.reference_strategy import ReferenceStrategy, open_reference
from simstrategy_tf_distribute.workers import run_workers

__all__ = ["OrderedReduction", "ReferenceStrategy", "open_reference", "replicas_agree", "run_workers"]
