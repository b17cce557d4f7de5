"""Runs scripts for `simstrategy check --as torchrun`, and reads what their ranks have recorded."""
