"""The array functions of the contract by subject, with their shapes, dtypes and errors.  No implementation is here.

`simstrategy.device.namespace` joins them to `ArrayNamespace` and states the rules that all of them share.
"""

from simstrategy.device.functions.creation import Creation
from simstrategy.device.functions.elementwise import Elementwise
from simstrategy.device.functions.operators import Operators
from simstrategy.device.functions.reductions import Reductions
from simstrategy.device.functions.searching import Searching
from simstrategy.device.functions.shapes import Shapes

__all__ = ["Creation", "Elementwise", "Operators", "Reductions", "Searching", "Shapes"]
