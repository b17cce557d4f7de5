"""The conformance kit: what a backend has to pass, as property-based tests beside the simulator and an oracle.

Imports nothing here: the pytest plugin is loaded in every session of whoever installed the kit.
"""
