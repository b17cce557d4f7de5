"""What tests of users' programs call: an assertion, Hypothesis strategies, and what a replica of a test receives.

It needs no test library but Hypothesis, and that in `batches` and `replica_counts` alone. The fixture, the marker and
the form of a failure are those of the distribution `simstrategy-pytest`.
"""

from simstrategy.testing.drawing import batches, replica_counts
from simstrategy.testing.lawful import assert_lawful
from simstrategy.testing.world import World

__all__ = ["World", "assert_lawful", "batches", "replica_counts"]
