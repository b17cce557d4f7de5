"""How the cost of each style of calls grows with what it is called for: `python3 ci/run.py bench growth`."""
