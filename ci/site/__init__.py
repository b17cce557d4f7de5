"""What Sphinx makes the pages with: its configuration, and what is put into pages when they are read."""
