"""Compares compiled steps with what they request on the simulator: `simstrategy compile-check`.

It uses the core's strategies, as programs do. The backend beside it imports nothing of it. `checking.py` has the
function behind the command. Nothing is imported here, so that the list of commands is there without JAX.
"""
