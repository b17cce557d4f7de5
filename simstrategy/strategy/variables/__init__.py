"""Variables: the table of their policies, and what carries it out."""
