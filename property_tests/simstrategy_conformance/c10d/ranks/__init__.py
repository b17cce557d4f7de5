"""What runs in the processes of ranks: it joins a process group, makes calls and compares results, with torch."""
