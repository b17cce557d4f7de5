"""The processes of the backend `xla_processes`: their control channel, and time limits for their collectives.

XLA waits without a limit for a process that has ended. So each collective is awaited here, while the control
channel is watched for faults.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, Final, final

import jax

from simstrategy.peers import ControlChannel
from simstrategy_xla.dispatch import Dispatcher, Job

__all__ = ["NAME", "ProcessGroup"]

NAME: Final = "xla_processes"
_LOOK_S: Final = 0.005
"""How often a collective that takes longer looks for a fault."""
_GRACE_S: Final = 2.0
"""How long data that a process sent before it ended may still be on its way."""


@final
class ProcessGroup:
    """This process's part of a group.

    channel: the group closes it. dispatcher: of this process. timeout_s: of any call, in seconds.
    """

    __slots__ = ("_call", "_channel", "_dispatcher", "_timeout_s", "rank")

    def __init__(self, channel: ControlChannel, dispatcher: Dispatcher, timeout_s: float) -> None:
        self.rank = channel.rank
        self._channel = channel
        self._dispatcher = dispatcher
        self._timeout_s = timeout_s
        self._call = "the first collective"

    def begin(self, call: str) -> None:
        """Keeps the name of the call that begins, for messages.  Raises PeerFailed, BackendUnavailable."""
        self._channel.require_no_fault(call)
        self._call = call

    def exchange(self, note: bytes, timeout_s: float | None) -> tuple[bytes, ...]:
        """Returns the notes of all processes, in rank order.  Raises PeerFailed with the missing ranks."""
        return self._channel.exchange(note, self._timeout_s if timeout_s is None else timeout_s)

    def close(self) -> None:
        """Ends the control channel."""
        self._channel.close()

    def compiled(self, jitted: Any, structs: Sequence[Any]) -> Callable[..., Any]:
        """Compiles a program and returns it as a function that raises PeerFailed where XLA would wait for ever.

        structs: arguments without values. The function returns when its outputs have values.
        """
        program = jitted.lower(*structs).compile()  # here, because compiling is no waiting for others

        def run(*wholes: Any) -> Any:
            job = self._dispatcher.start(program, wholes)
            try:
                problem = self._problem_of(job)
            except BaseException as error:
                reason = f"worker {self.rank} was interrupted in {self._call} by {type(error).__name__}"
                self._channel.report_fault(reason, (self.rank,))
                raise
            if problem is not None:
                raise self._channel.peer_failed(self._call, self._channel.probe_peers(self._call, problem))
            return job.outputs

        return run

    def _problem_of(self, job: Job) -> str | None:
        """Waits for a job; returns why it has no outputs in the end, or None."""
        deadline, fault = time.monotonic() + self._timeout_s, None
        while not job.finished.wait(_LOOK_S):
            now = time.monotonic()
            if now > deadline:
                return f"it did not end within {self._timeout_s:g} s"
            if fault is None and (fault := self._channel.find_fault()) is not None:
                deadline = min(deadline, now + _GRACE_S)
        if isinstance(job.error, jax.errors.JaxRuntimeError):
            return f"XLA reported: {str(job.error).splitlines()[0]}"
        if job.error is not None:
            raise job.error
        return None
