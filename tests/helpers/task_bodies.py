"""Meetings and bodies of tasks that the tests of tasks share.  No tests."""

__all__ = ["echo", "ignore", "steps"]


def echo(calls, order):
    """Answers every task with what all of them brought."""
    return [[call[0] for call in calls]] * len(calls)


def ignore(index, error, calls, order):
    pass


def steps(tasks, count=3, meetings=2):
    """Runs tasks that write down what happens, and returns the list."""
    events = []

    def body(index, suspend):
        events.append(f"start{index}")
        for number in range(meetings):
            suspend(index)
            events.append(f"after{number}-{index}")

    def match(calls, order):
        events.append(f"meet {order}")
        return calls

    tasks.run(count, body, match, ignore)
    return events


# Clauses: M-1
