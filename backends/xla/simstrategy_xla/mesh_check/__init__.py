"""Judges programs of a JAX mesh, `program(mesh: jax.sharding.Mesh)`, as they are.

It uses the core's laws. The backend beside it imports nothing of it.
"""

from simstrategy_xla.mesh_check.checking import programs_agree

__all__ = ["programs_agree"]
