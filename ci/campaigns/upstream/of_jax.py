"""Draws programs of JAX: functions of arrays that are cut over a mesh, compiled with `jit`, and their gradients.

The documentation states that the cut of an array changes where its parts are, and not what is computed:
docs.jax.dev/en/latest/notebooks/Distributed_arrays_and_automatic_parallelization.html.
"""

from typing import Final

from ci.campaigns.upstream.programs import Library, calls_of

__all__ = ["LIBRARY"]

CALLS: Final = calls_of("jax")


def draw(random):
    """Returns subject, title and body of a program."""
    shape = (random.choice([12, 12, 24]), random.choice([3, 4, 5, 12]))
    kind = random.choice(["unary", "unary", "dims", "pairs"])
    form, dim = random.choice(CALLS[kind]), random.choice([0, 1, -1])
    text = form.format(a="a", b="b", dim=dim)
    names = "ab" if kind == "pairs" else "a"
    cuts = [_cut(random, shape) for _ in names]
    lines = [
        f"{name} = cut(drawn({random.randrange(10**6)}, {shape[0]}, {shape[1]}), mesh, {one})"
        for name, one in zip(names, cuts, strict=True)
    ]
    way = random.choice(["value", "value", "gradient", "constrained"])
    function = f"lambda {', '.join(names)}: {text}"
    if way == "constrained":
        inner = ", ".join(
            f"lax.with_sharding_constraint({name}, NamedSharding(mesh, P({_cut(random, shape)})))" for name in names
        )
        function = f"lambda {', '.join(names)}: ({function})({inner})"
    lines.append(f"function = {function}")
    if way == "gradient":
        lines += [
            "def squares(*values):",
            "    leaves = jax.tree.leaves(function(*values))",
            "    floats = [one for one in leaves if jnp.issubdtype(one.dtype, jnp.floating)]",
            "    return sum(jnp.sum(one * one) for one in floats) + 0.0",
            f"return jax.jit(jax.value_and_grad(squares))({', '.join(names)})",
        ]
    else:
        lines.append(f"return jax.jit(function)({', '.join(names)})")
    return form, f"{text}, {list(shape)}, cut ({') ('.join(cuts)}), {way}", "\n".join(lines)


def _cut(random, shape):
    cuts = ["'data'", "'data', None", "None"]
    return random.choice([*cuts, "None, 'data'"] if shape[1] == 12 else cuts)


LIBRARY = Library("jax", "mesh", (1, 3, 4), "mesh", draw, ("jax", "jaxlib"))
