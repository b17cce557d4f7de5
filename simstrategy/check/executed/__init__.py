"""Scripts that the check executes itself, as `python` does: each run executes the whole file.

Their text is changed in the syntax tree where it has to be, and nowhere else; lines stay where they are.
"""

from simstrategy.check.executed.kept import Form, Kept, with_forms
from simstrategy.check.executed.program import Script, require_arguments, script_of
from simstrategy.check.executed.scripts import is_executed, script_in

__all__ = ["Form", "Kept", "Script", "is_executed", "require_arguments", "script_in", "script_of", "with_forms"]
