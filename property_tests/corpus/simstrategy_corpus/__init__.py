"""Real bugs of data-parallel training as pairs of programs, and the score of any tool on them.

It imports nothing of simstrategy: a tool is a command line, or a class with one method.
"""
