"""Programs of a mesh in several processes of this machine, which `jax.distributed` connects: `check --workers`.

`runs.py` has the runs, `processes.py` starts a process for each worker; `child.py` is what it does.
"""
