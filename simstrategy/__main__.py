"""Runs the command line as a module: python -m simstrategy."""

from simstrategy.cli import main

main()
