"""What the check of scripts needs of a run: a rank's hooks, the file that it writes, and what all ranks' files give."""
