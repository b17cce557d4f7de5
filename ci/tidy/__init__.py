"""The repository's own rules, executed: one file for each kind of rule, one table for what may break one.

    python3 ci/run.py tidy

It refuses to judge what needs a reader: whether a name is good, whether a comment gives the reason.
"""
