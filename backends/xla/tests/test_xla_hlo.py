"""The text of compiled programs, read for what their ranks do together: one's own compiler's, and lines of others'."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import simstrategy as ss
from simstrategy.device import Collective
from simstrategy.errors import InvalidArgument
from simstrategy_xla.hlo import collectives_in

SUMS = """
%adding (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  ROOT %add.1 = f32[] add(%a, %b)
}
"""
EIGHT = (tuple(range(8)),)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (
            "  ROOT %r = f32[8,4]{1,0:T(8,128)} all-reduce(%x), replica_groups={{0,1},{2,3}}, to_apply=%adding",
            [Collective("all-reduce", "SUM", "float32", 32, ((0, 1), (2, 3)))],
        ),
        (
            "  %r = (f32[8]{0}, s32[]{:T(128)}) all-reduce(%x, %y), replica_groups={}, to_apply=%adding",
            [Collective("all-reduce", "SUM", "float32", 8, ()), Collective("all-reduce", "SUM", "int32", 1, ())],
        ),
        (
            "  %s = f32[8]{0} all-reduce-start(%x), replica_groups=[1,8]<=[8], to_apply=%adding",
            [Collective("all-reduce", "SUM", "float32", 8, EIGHT)],
        ),
        (
            "  %s = (bf16[2,3]{1,0}, bf16[16,3]{1,0}) all-gather-start(%x), replica_groups=[1,8]<=[8], dimensions={0}",
            [Collective("all-gather", None, "bfloat16", 48, EIGHT)],
        ),
        (
            "  %g = pred[4]{0} all-gather(%x), replica_groups=[4,2]<=[2,4]T(1,0), dimensions={0}",
            [Collective("all-gather", None, "bool", 4, ((0, 4), (1, 5), (2, 6), (3, 7)))],
        ),
        (
            "  %p = (c64[5]{0}, c64[5]{0}, u32[], u32[]) collective-permute-start(%x), source_target_pairs={{0,1}}",
            [Collective("collective-permute", None, "complex64", 5, ())],
        ),
        (
            "  %r = f32[2] reduce-scatter(%x), replica_groups={{0,1}}, dimensions={0}, to_apply=%unseen",
            [Collective("reduce-scatter", "unseen", "float32", 2, ((0, 1),))],
        ),
        ("  %d = f32[8]{0} all-reduce-done(%s)", []),
        ("  %x = f32[8]{0} fusion(%all-reduce.1), calls=%adding", []),
    ],
)
def test_a_line_is_read(line, found):
    assert list(collectives_in(SUMS + line)) == found


def test_groups_of_an_unknown_form_are_told():
    with pytest.raises(InvalidArgument, match=r"XLA wrote replica groups as '\[2,2,2\]<=\[8\]'"):
        collectives_in("  %r = f32[8] all-reduce(%x), replica_groups=[2,2,2]<=[8], to_apply=%adding")


def test_what_this_machine_compiles_is_read():
    ss.backend("xla", replicas=4)  # makes the devices
    mesh = Mesh(np.array(jax.devices()[:4]), ("ranks",))

    def together(x, n):
        return jax.lax.psum(x, "ranks"), jax.lax.pmax(n, "ranks"), jax.lax.all_gather(x, "ranks")

    spread = PartitionSpec("ranks")
    program = jax.jit(jax.shard_map(together, mesh=mesh, in_specs=spread, out_specs=spread, check_vma=False))
    sharding = NamedSharding(mesh, spread)
    arguments = [jax.ShapeDtypeStruct((8, 3), jnp.float32, sharding=sharding)]
    arguments += [jax.ShapeDtypeStruct((20,), jnp.int32, sharding=sharding)]
    text = program.lower(*arguments).compile().as_text()
    four = (tuple(range(4)),)
    wanted = [
        Collective("all-gather", None, "float32", 24, four),
        Collective("all-reduce", "MAX", "int32", 5, four),
        Collective("all-reduce", "SUM", "float32", 6, four),
    ]
    assert sorted(collectives_in(text), key=str) == sorted(wanted, key=str)
