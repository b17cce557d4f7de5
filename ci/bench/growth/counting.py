"""What an action costs, as a number that does not depend on the machine, and how costs grow with a size.

The number is of executed bytecodes and of calls of functions in C. What one such call does with many elements is not in
it: for that there are times, of large sizes.
"""

import gc
import math
import sys
import time

__all__ = ["counted", "exponent", "shortest_s"]


def counted(action):
    """Returns the number of bytecodes and of calls of C functions that `action()` takes in this thread."""
    number = 0

    def trace(frame, event, arg):
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return local

    def local(frame, event, arg):
        nonlocal number
        number += event == "opcode"
        return local

    def profile(frame, event, arg):
        nonlocal number
        number += event == "c_call"

    gc.collect()  # destructors of other objects do not run meanwhile
    gc.disable()
    sys.settrace(trace)
    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(None)
        sys.settrace(None)
        gc.enable()
    return number


def shortest_s(action, rounds=3):
    """Returns the shortest processor time of several calls, in seconds."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return min(times)


def exponent(sizes, costs):
    """Returns the slope of the line through the logarithms of costs over those of sizes, by least squares.

    >>> round(exponent([10, 100, 1000], [5, 500, 50_000]), 6)
    2.0
    """
    xs, ys = [math.log(one) for one in sizes], [math.log(one) for one in costs]
    x_mean, y_mean = sum(xs) / len(xs), sum(ys) / len(ys)
    above = sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys, strict=True))
    return above / sum((x - x_mean) ** 2 for x in xs)
