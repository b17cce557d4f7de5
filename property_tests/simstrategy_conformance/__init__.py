"""The conformance kit: what a backend has to pass, as property-based tests beside the simulator and an oracle.

This file imports nothing: pytest loads the plugin in every session where the kit is installed.
"""
