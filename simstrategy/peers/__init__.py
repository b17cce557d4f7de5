"""The control channel of a backend whose ranks are in several processes: rendezvous, notes, faults.

Backends use it beside their framework's collectives. Only bytes travel here; tensors do not.
"""

from simstrategy.peers.addresses import LOOPBACK, address_towards, free_port
from simstrategy.peers.channel import ControlChannel
from simstrategy.peers.connecting import connect_all
from simstrategy.peers.handshake import job_token, new_token
from simstrategy.peers.hello import Hello, Opening, did_not_come, require_alike, require_timeout
from simstrategy.peers.listener import Listener
from simstrategy.peers.rendezvous import rendezvous_at_rank_0

__all__ = [
    "LOOPBACK",
    "ControlChannel",
    "Hello",
    "Listener",
    "Opening",
    "address_towards",
    "connect_all",
    "did_not_come",
    "free_port",
    "job_token",
    "new_token",
    "rendezvous_at_rank_0",
    "require_alike",
    "require_timeout",
]
