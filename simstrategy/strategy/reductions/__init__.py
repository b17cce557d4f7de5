"""Sums, means and gathers over replicas: the rules, and the results of collective requests."""
