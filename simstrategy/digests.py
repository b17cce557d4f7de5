"""BLAKE2 without the rest of `hashlib`, which loads OpenSSL's library: every start would pay 3 ms for it.

The same function as `hashlib.blake2b`. Not for secrets.
"""

from _blake2 import blake2b

__all__ = ["blake2b"]
