"""The backend gloo in several processes, for the conformance kit: its ranks are in worker processes.  No tests.

simstrategy conform remote_gloo:two_processes, in this folder. The kit's arrays are small, and small sums are folded in
rank order: `…_unfolded` lets gloo add them.
"""

from functools import partial

from simstrategy_conformance.remote import open_remote

two_processes = partial(open_remote, "gloo", 2)
four_processes = partial(open_remote, "gloo", 4)
two_processes_unfolded = partial(open_remote, "gloo", 2, folded_bytes_max=0)
four_processes_unfolded = partial(open_remote, "gloo", 4, folded_bytes_max=0)
