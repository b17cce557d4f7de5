"""What a rank records of its optimizers for a check, and the file that it writes."""
