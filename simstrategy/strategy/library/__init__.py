"""Calls for library code: updates, destinations, placements, configurations."""
