"""Runs the command line as a module: python -m simstrategy.cli."""

from simstrategy.cli import main

main()
