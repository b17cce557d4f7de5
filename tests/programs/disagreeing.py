"""All programs in which replicas disagree, with the line that the message has to have for each replica.

name -> `Disagreement`. The programs themselves are next door; each works with two replicas or more.
"""

from typing import Final

import disagreeing_identities
import disagreeing_paths
import disagreeing_requests
from disagreement import Disagreement

__all__ = ["DISAGREEING"]

_MODULES: Final = (disagreeing_requests, disagreeing_paths, disagreeing_identities)

DISAGREEING: Final[dict[str, Disagreement]] = {
    name: one for module in _MODULES for name, one in module.PROGRAMS.items()
}
assert len(DISAGREEING) == sum(len(module.PROGRAMS) for module in _MODULES), "two programs have one name"
