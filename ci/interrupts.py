"""Interrupts runs at every step that Python can interrupt, and uses the strategy again: `ci/run.py deep interrupts`.

    python3 ci/interrupts.py [--count N]

A trace function counts the steps of one run, in all its threads. The same run is then repeated, and interrupted at one
step after the other: a real SIGINT, which reaches the main thread at its next step, or while it waits for a thread.
After each one the next run must give the right values within a time limit, and no thread may be left over.
"""

import argparse
import ctypes
import faulthandler
import gc
import signal
import sys
import threading
import time
import traceback
from functools import partial

import numpy as np

import simstrategy as ss
from simstrategy.run.frames import frames_of_threads

LIMIT_S = 60
ROUND = 20
STRIDE = 7919
EXECUTORS = ("inline", "greenlet", "greenlet, seeded", "thread", "thread, seeded")

# A C function with room for the three arguments of a trace function: no step of Python lies between it and the program.
_RAISE = ctypes.PYFUNCTYPE(None, *(ctypes.py_object,) * 3)(("PyErr_SetInterrupt", ctypes.pythonapi))

_OF_TRACING = "'traceback' object is not callable"


class Injector:
    """Counts steps, and interrupts the main thread at one of them.  at: the number of the step; 0 for none."""

    armed = False
    """Whether the next SIGINT is to be raised."""

    def __init__(self, at):
        self.at = at
        self.steps = 0
        self.fired = False

    def trace(self, frame, event, argument):
        if self.fired:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            self.steps += 1
            if self.steps == self.at:
                self.fired = True
                if threading.current_thread() is threading.main_thread():
                    return _RAISE
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        return self.trace

    def run(self, call):
        """Calls a function; returns whether it was interrupted."""
        Injector.armed = True
        try:
            threading.settrace(self.trace)
            sys.settrace(self.trace)
            call()
            # The pooled threads keep the trace function; and an interrupt may be too late for the call.
            self.fired = True
            time.sleep(0.0002)
        except KeyboardInterrupt:
            return True
        except (RuntimeError, TypeError) as error:
            # Python's own Condition, interrupted while a thread starts, raises one in place of the interrupt; so does
            # its tracing, now and then. The next run is examined all the same.
            if str(error) != _OF_TRACING and not is_of_thread_start(error):
                raise
            return True
        finally:
            Injector.armed = False
            sys.settrace(None)
            threading.settrace(None)
        return False


def is_of_thread_start(error):
    """Returns whether an error was raised in `threading.Thread.start` itself, not in code of ours that it called."""
    codes = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)]
    inside = [code.co_name for code in codes if code.co_filename == threading.__file__]
    return "start" in inside and codes[-1].co_filename == threading.__file__


def make(executor):
    """Returns a strategy, a step of it, and what the step returns."""
    kind, _, schedule = executor.partition(", ")
    replicas = 1 if kind == "inline" else 3
    strategy = ss.Strategy.mirrored(
        "sim",
        replicas=replicas,
        executor="auto" if kind == "inline" else kind,
        schedule=ss.schedules.Seeded(7) if schedule else None,
    )
    with strategy.scope():
        variable = ss.Variable(np.zeros(2, np.float32), aggregation=ss.VariableAggregation.SUM)

    def step(number):
        context = ss.get_replica_context()
        mine = number + context.replica_id_in_sync_group
        first = context.all_reduce("SUM", np.float32(mine))
        variable.assign(np.full(2, mine, np.float32))
        second = context.all_reduce("SUM", {"first": first, "mine": np.float32(mine)})
        return float(first), float(second["mine"]), [float(one) for one in variable.numpy()]

    return strategy, step, replicas


def expected(number, replicas):
    total = sum(number + rank for rank in range(replicas))
    return [(float(total), float(total), [float(total)] * 2)] * replicas


def interrupted(signum, frame):
    """Handles SIGINT: raises once for each injector, whose trace function causes more than one."""
    if Injector.armed:
        Injector.armed = False
        raise KeyboardInterrupt


def task_threads():
    """Returns the threads of pools that run.  Python keeps one for ever whose start was interrupted."""
    running = frames_of_threads()
    return [one for one in threading.enumerate() if one.name == "simstrategy task" and one.ident in running]


def counted(strategy, step):
    """Returns the number of steps of a run."""
    injector = Injector(0)
    injector.run(partial(strategy.run, step, args=(1,)))
    return injector.steps


def examine(executor, count):
    """Interrupts runs at `count` steps; returns the number of interrupts that arrived, and a line for each fault."""
    faults, arrived = [], 0
    strategy, step, replicas = make(executor)
    steps = [counted(strategy, step) for _ in range(3)]
    for number in range(count):
        cold = number % ROUND == 0  # the first run of a strategy makes its threads or greenlets
        if cold:
            strategy.close()
            strategy, step, replicas = make(executor)
        # A stride that has no factor in common with the number of steps visits each of them.
        at = 1 + number // (ROUND if cold else 1) * STRIDE % steps[0 if cold else -1]
        faulthandler.dump_traceback_later(LIMIT_S, exit=True)
        arrived += Injector(at).run(partial(strategy.run, step, args=(number,)))
        found = host(strategy.run(step, args=(number + 1,)), replicas)
        if found != expected(number + 1, replicas):
            faults.append(f"{executor}, step {at}: {found} instead of {expected(number + 1, replicas)}")
        faulthandler.cancel_dump_traceback_later()
    strategy.close()
    del strategy, step
    gc.collect()
    deadline = time.monotonic() + LIMIT_S / 10
    while task_threads() and time.monotonic() < deadline:
        time.sleep(0.01)
    if task_threads():
        faults.append(f"{executor}: {len(task_threads())} threads are left")
        faulthandler.dump_traceback(all_threads=True)
    return arrived, faults


def host(result, replicas):
    """Returns each replica's part of a run's result as Python numbers."""
    return [ss.values.select(index, result) for index in range(replicas)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=20_000, help="interrupts of each executor")
    parser.add_argument("--executor", action="append", choices=EXECUTORS)
    options = parser.parse_args()
    signal.signal(signal.SIGINT, interrupted)
    failed = 0
    for executor in options.executor or EXECUTORS:
        arrived, faults = examine(executor, options.count)
        print(
            f"{executor:17} {options.count:6} runs interrupted at a step, {arrived:6} raised it, {len(faults)} faults"
        )
        print("\n".join(faults[:5]), flush=True)
        failed += len(faults)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
