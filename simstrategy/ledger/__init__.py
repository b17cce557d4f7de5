"""How much every sample of a global batch counts in what a step computes: `simstrategy.ledger`."""

from simstrategy.ledger.ledger import ledger
from simstrategy.ledger.report import Entry, Ledger

__all__ = ["Entry", "Ledger", "ledger"]
