"""Reports of the kit side by side: one page without scripts, and a badge of one report.

Nothing here examines a backend: a page states what the reports state, and how to repeat each of its cells.
"""

from simstrategy_conformance.matrix.made import badge_of_files, page_of_files

__all__ = ["badge_of_files", "page_of_files"]
