"""What notebooks show: values as small HTML tables, and errors by the cells in which they arose.

Jupyter calls `_repr_html_` of a value and `_render_traceback_` of an exception; what these methods return is made here.
Nothing here imports IPython, and no table has a script.
"""

from simstrategy.notebook.cards import Marked, card, component_cells, components_html
from simstrategy.notebook.cells import in_cells, traceback_lines

__all__ = ["Marked", "card", "component_cells", "components_html", "in_cells", "traceback_lines"]
