"""What an operation of a group returns: waits for its answer, or asks for it."""

import sys
from datetime import timedelta
from typing import Any, final

import torch
from torch.distributed import Work

from simstrategy_torch_distributed.link import Link, Pending, is_asked

__all__ = ["Requested"]


@final
class Requested(Work):
    """The work of a call that other ranks take part in.  Results are written when it is waited for."""

    def __init__(self, link: Link, pending: Pending, timeout: timedelta | None) -> None:
        Work.__init__(self)
        self._link = link
        self._pending = pending
        self._timeout = timeout
        pending.work = self

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        self._link.wait(self._pending, timeout if timeout > timedelta(0) else self._timeout)
        return True

    def synchronize(self) -> None:
        self.wait()

    def is_completed(self) -> bool:
        return self._link.poll(self._pending)

    def is_success(self) -> bool:
        return self._link.poll(self._pending) and self._pending.error is None

    def exception(self) -> Any:
        return self._pending.error

    def result(self) -> list[torch.Tensor]:
        return self._pending.result

    def get_future(self) -> "torch.futures.Future[Any]":
        future = self._link.future(self._pending)
        # An exception of a future is one for Python alone: C++, as in DDP, would read it as tensors. Of what `then`
        # returns it is one for both.
        return future if is_asked(sys._getframe(1)) else future.then(_value_of)

    def source_rank(self) -> int:
        return self._source()

    def _source_rank(self) -> int:
        return self._source()

    def _source(self) -> int:
        """The member that sent what was received."""
        answer = self._pending.answer
        return int(answer[0]) if self._pending.call.kind == "recv" and answer else -1


def _value_of(future: "torch.futures.Future[Any]") -> Any:
    """Returns the value of a completed future; raises its exception."""
    return future.value()
