"""The tests, one module for each group of clauses; no module names a backend."""
