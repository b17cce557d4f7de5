"""All styles by name, in the order of the table."""

from ci.bench.growth import calls, data, outside, runs, variables

__all__ = ["STYLES"]

STYLES = calls.STYLES | variables.STYLES | outside.STYLES | data.STYLES | runs.STYLES
