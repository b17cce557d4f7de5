"""Backends of `torch.distributed` under examination: `simstrategy conform c10d:NAME`.

A backend that is registered with `torch.distributed` needs no line of code for it: its ranks run in processes of their
own, and the clauses W of docs/c10d.md are examined there. Only the package `ranks` imports torch, in those processes.
"""
