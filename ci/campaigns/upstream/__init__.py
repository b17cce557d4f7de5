"""Generated programs of other libraries under the laws of `check`: what the libraries themselves do wrong.

`programs.py` has what a program is and the file that runs many of them, and `of_*.py` draw those of one library from
the lists of `calls.toml`. `child.py` runs a file on several numbers of replicas, by one of the three `front_*.py`,
`judging.py` compares the runs, and `known.toml` lists what was found before.
"""
