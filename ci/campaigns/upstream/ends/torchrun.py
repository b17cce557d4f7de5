"""The end of a script: runs PROGRAMS, and observes what each gives."""


def leaves(name, value):
    if isinstance(value, dict):
        for key, one in value.items():
            yield from leaves(f"{name}[{key}]", one)
    elif isinstance(value, (list, tuple)):
        for key, one in enumerate(value):
            yield from leaves(f"{name}[{key}]", one)
    else:
        yield name, value


for name, program in PROGRAMS.items():
    try:
        found = dict(leaves(name, program()))
    except (
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        NotImplementedError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        if isinstance(error, SimStrategyError):
            raise
        found = {f"{name} raises {type(error).__name__}": 0.0}
    dist.barrier()
    for path, value in found.items():
        observe(path, value)
