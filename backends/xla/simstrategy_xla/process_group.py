"""The processes of the backend `xla_processes`: their control channel, and how one waits for a collective of all.

XLA waits without a limit for a process that has ended. So every program is waited for here, with a time limit,
while the control channel is watched for faults.
"""

import time
from typing import Any, Final, final

import jax

from simstrategy.peers import ControlChannel

__all__ = ["NAME", "ProcessGroup"]

NAME: Final = "xla_processes"
_SPIN_S: Final = 0.002
"""How long the end of a program is polled for without a pause."""
_PAUSE_S: Final = 0.0002
_GRACE_S: Final = 2.0
"""How long data that a process sent before it ended may still be on its way."""


@final
class ProcessGroup:
    """This process's part of a group.  channel: the group owns and closes it.  timeout_s: of any call, in seconds."""

    __slots__ = ("_call", "_channel", "_timeout_s", "rank")

    def __init__(self, channel: ControlChannel, timeout_s: float) -> None:
        self.rank = channel.rank
        self._channel = channel
        self._timeout_s = timeout_s
        self._call = "the first collective"

    def begin(self, call: str) -> None:
        """Keeps the name of the call that begins, for messages.  Raises PeerFailed, BackendUnavailable."""
        self._channel.require_alive(call)
        self._call = call

    def exchange(self, note: bytes, timeout_s: float | None) -> tuple[bytes, ...]:
        """Returns the notes of all processes, in rank order.  Raises PeerFailed with the missing ranks."""
        return self._channel.exchange(note, self._timeout_s if timeout_s is None else timeout_s)

    def close(self) -> None:
        """Ends the control channel."""
        self._channel.close()

    def wait(self, outputs: Any) -> None:
        """Returns when the arrays in `outputs` have values.  Raises PeerFailed if they will not come."""
        try:
            problem = self._problem_of(jax.tree.leaves(outputs))
        except BaseException as error:
            reason = f"worker {self.rank} was interrupted in {self._call} by {type(error).__name__}"
            self._channel.report_fault(reason, (self.rank,))
            raise
        if problem is not None:
            raise self._channel.peer_failed(self._call, self._channel.probe_peers(self._call, problem))

    def _problem_of(self, arrays: list[Any]) -> str | None:
        """Waits; returns why the arrays have no values in the end, or None."""
        begun = time.monotonic()
        deadline, fault = begun + self._timeout_s, None
        while not all(array.is_ready() for array in arrays):
            now = time.monotonic()
            if now > deadline:
                return f"it did not end within {self._timeout_s:g} s"
            if now - begun < _SPIN_S:
                continue
            if fault is None and (fault := self._channel.find_fault()) is not None:
                deadline = min(deadline, now + _GRACE_S)
            time.sleep(_PAUSE_S)
        try:
            jax.block_until_ready(arrays)  # type: ignore[no-untyped-call]
        except jax.errors.JaxRuntimeError as error:
            return f"XLA reported: {str(error).splitlines()[0]}"
        return None
