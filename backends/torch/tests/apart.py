"""The backend gloo in several processes, as the conformance kit can ask it: its ranks are other processes.  No tests.

simstrategy conform apart:two_processes, in this folder. The kit's arrays are small, and small sums are folded in rank
order: `…_unfolded` lets gloo add them.
"""

from functools import partial

from simstrategy.launch.apart import open_apart

two_processes = partial(open_apart, "gloo", 2)
four_processes = partial(open_apart, "gloo", 4)
two_processes_unfolded = partial(open_apart, "gloo", 2, folded_bytes_max=0)
four_processes_unfolded = partial(open_apart, "gloo", 4, folded_bytes_max=0)
