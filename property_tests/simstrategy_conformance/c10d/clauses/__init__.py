"""The tests of the clauses W of docs/c10d.md."""
