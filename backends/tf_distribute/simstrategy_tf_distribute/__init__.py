"""The real tf.distribute strategies as a witness, and our checks inside them.  The door only.

It sets no settings and opens nothing: `open_witness` does, and `OrderedReduction` is given to a strategy.
"""

from simstrategy_tf_distribute.agreement import replicas_agree
from simstrategy_tf_distribute.reduction import OrderedReduction
from simstrategy_tf_distribute.reference_strategy import ReferenceStrategy, open_reference
from simstrategy_tf_distribute.workers import run_workers

__all__ = ["OrderedReduction", "ReferenceStrategy", "open_reference", "replicas_agree", "run_workers"]
