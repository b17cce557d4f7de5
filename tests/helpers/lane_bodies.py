"""Meetings and bodies of lanes that the tests of lanes share.  No tests."""

__all__ = ["echo", "ignore", "steps"]


def echo(arrivals, order):
    """A meeting that gives every lane all arrivals."""
    return [list(arrivals)] * len(arrivals)


def ignore(index, error, arrivals, order):
    pass


def steps(lanes, count=3, meetings=2):
    """Runs lanes that write down what happens, and returns the list."""
    events = []

    def body(index, park):
        events.append(f"start{index}")
        for number in range(meetings):
            park(index)
            events.append(f"after{number}-{index}")

    def meet(arrivals, order):
        events.append(f"meet {order}")
        return arrivals

    lanes.run(count, body, meet, ignore)
    return events


# Clauses: M-1
