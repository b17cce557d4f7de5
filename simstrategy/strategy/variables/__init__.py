"""Variables: the table of their policies, and the code that applies it."""
