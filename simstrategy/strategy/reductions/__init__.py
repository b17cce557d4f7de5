"""Sums, means and gathers over replicas: the rules, and the answers of meetings."""
