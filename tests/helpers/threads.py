"""Runs a function in several threads at once, which take turns as often as Python can.  No tests."""

import sys
import threading
from collections.abc import Callable, Iterable

__all__ = ["at_once"]


def at_once(use: Callable[[int], object], numbers: Iterable[int]) -> None:
    """Calls a function with each number in a thread of its own; raises what the first of them raised."""
    wrong: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            use(number)
        except BaseException as error:  # noqa: BLE001 - raised in the main thread
            wrong.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=guarded, args=(number,)) for number in numbers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
    finally:
        sys.setswitchinterval(interval)
    assert not any(thread.is_alive() for thread in threads)
    if wrong:
        raise wrong[0]
