"""Programs under the real MultiWorkerMirroredStrategy, in several processes of this machine: `check --workers`.

`runs.py` has the runs, `processes.py` starts a process for each worker; `child.py` is what it does.
"""
