"""Draws programs of PyTorch's DTensor: an operation on sharded tensors, and its whole result and gradient.

The documentation states that a program of DTensors means what it means with the whole tensors on one device:
docs.pytorch.org/docs/stable/distributed.tensor.html, on DTensor and its operators.
"""

from typing import Final

from ci.campaigns.upstream.programs import Library, calls_of

__all__ = ["LIBRARY"]

CALLS: Final = calls_of("dtensor")
SIZES: Final = (1, 2, 3, 4, 5, 6, 7, 8)


def draw(random):
    """Returns subject, title and body of a program."""
    shape = (random.choice(SIZES[2:]), random.choice(SIZES[2:]))
    if random.random() < 0.25:
        shape = (*shape, random.choice(SIZES[1:4]))
    kind = random.choice(["unary", "dims", "dims", "whole", "pairs"])
    if kind == "pairs":
        shape = shape[:2]
    form = random.choice(CALLS[kind])
    dim = random.choice([*range(len(shape)), -1])
    text = form.format(a="a", b="b", dim=dim)
    places = [_placement(random, len(shape)) for _ in range(2)]
    lines = [f"data = drawn({random.randrange(10**6)})"]
    names = "ab" if kind == "pairs" else "a"
    for name, place in zip(names, places, strict=False):
        lines += [
            f"full = torch.rand({', '.join(map(str, shape))}, generator=data, dtype=torch.float64) * 2 - 1",
            f"{name} = distribute_tensor(full, MESH, [{place if place != 'Partial()' else 'Replicate()'}])",
            *([f"{name} = {name}.redistribute(placements=[Partial()])"] if place == "Partial()" else []),
        ]
    graded = random.random() < 0.4 and "_(" not in text
    if graded:
        lines += ["a.requires_grad_()", f"found = {text}"]
        lines += ["found = found[0] if isinstance(found, (tuple, list)) else found"]
        lines += ["if not found.is_floating_point() or not found.requires_grad:", "    return whole(found)"]
        lines += ["(found * found).sum().backward()", "return [whole(found), whole(a.grad)]"]
    else:
        lines += [f"return whole({text})"]
    shown = ", ".join(f"{name} {place}" for name, place in zip(names, places, strict=False))
    return form, f"{text}, {list(shape)}, {shown}{', gradient' if graded else ''}", "\n".join(lines)


def _placement(random, axes):
    return random.choice([*(f"Shard({axis})" for axis in range(axes)), "Shard(0)", "Replicate()", "Partial()"])


LIBRARY = Library("dtensor", "torchrun", (1, 2, 3), "", draw, ("torch",))
