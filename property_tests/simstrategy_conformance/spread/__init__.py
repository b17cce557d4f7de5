"""Tasks, each a function and its argument, spread over the processes of this machine or of a Ray cluster.

Results come in the order of the arguments, wherever and whenever they were computed. A task has to give the same result
each time: its seed is in its argument.
"""

from simstrategy_conformance.spread.places import spread_over
from simstrategy_conformance.spread.tasks import Lost, Spread, results

__all__ = ["Lost", "Spread", "results", "spread_over"]
