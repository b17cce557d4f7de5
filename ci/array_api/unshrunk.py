"""A pytest plugin: Hypothesis does not make failing examples smaller.  The runner counts failures, and shows none.

The suite's own profile is made from the one that is loaded before, and takes its phases.
"""

from hypothesis import Phase, settings

settings.register_profile("unshrunk", phases=(Phase.explicit, Phase.generate))
settings.load_profile("unshrunk")
