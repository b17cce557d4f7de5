"""Limits of the process in which a submission runs: memory, time, size of files, the files and calls that it may use.

An audit hook refuses what no lesson needs. It keeps honest programs from accidents and simple tricks from working; it
is no sandbox. Submissions of strangers belong in a container, whatever grades them (decision 0057).
"""

import os
import resource
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

__all__ = ["close_off", "limit"]

_REFUSED: Final = (
    *("os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.kill", "os.killpg"),
    *("subprocess.Popen", "pty.spawn", "socket.bind", "socket.connect", "socket.sendto", "ctypes.dlopen"),
    *("ctypes.dlsym", "ctypes.dlsym/handle", "ctypes.cdata", "ctypes.addressof", "gc.get_objects"),
    *("gc.get_referrers", "gc.get_referents", "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.link"),
    *("os.chmod", "os.truncate", "os.mkdir", "shutil.rmtree", "shutil.move", "resource.setrlimit"),
)
_LISTED: Final = ("os.listdir", "os.scandir", "os.chdir")
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_OWN: Final = f"{os.path.realpath(os.path.dirname(__file__))}/"
_FILE_BYTES_MAX: Final = 64_000_000
_PAGES: Final = Path("/proc/self/statm")


def limit(seconds: float, memory_bytes: int) -> None:
    """Limits this process: processor seconds from now, bytes of memory beyond what it has, bytes of a file."""
    has = int(_PAGES.read_text().split()[0]) * resource.getpagesize()
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    cpu = int(used + seconds) + 1
    for kind, most in (
        (resource.RLIMIT_AS, has + memory_bytes),
        (resource.RLIMIT_CPU, cpu),
        (resource.RLIMIT_FSIZE, _FILE_BYTES_MAX),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (most, most))


def close_off(folder: Path, closed: Sequence[str], package: str, refused: Callable[[str], None]) -> None:
    """Refuses, from now on in this process, other processes, the network, and files.

    folder: the only one to write to. closed: files and folders with answers. package: that may not be imported, nor
    read, as `inspect.stack` does. refused: called with a sentence when something of `closed` is tried: no accident.
    """
    own = f"{os.path.realpath(folder)}/"
    roots = tuple(f"{os.path.realpath(one)}/" for one in closed)

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "import" and str(arguments[0]).partition(".")[0] == package:
            _refuse(f"it imports {arguments[0]}, the package that grades it", None)
        elif event == "open" or event in _LISTED:
            path = _path(arguments[0])
            if path is None or path.startswith(own):
                return
            if f"{path}/".startswith(roots):
                _refuse(f"it reads {os.path.basename(path)}, a file of the grader or of another submission", refused)
            elif path.startswith((_OWN, "/proc/")) or (event == "open" and _writes(arguments) and path != os.devnull):
                _refuse(f"it opens {path}", None)
        elif event in _REFUSED:
            _refuse(f"it calls {event}", None)

    sys.addaudithook(watch)


def _refuse(what: str, refused: Callable[[str], None] | None) -> None:
    if refused is not None:
        refused(what)
    raise PermissionError(f"A graded program may not do this: {what}. Use the arguments that it gets.")


def _path(given: object) -> str | None:
    """Returns the real path of what is opened; None for a number of an open file, and for the current folder."""
    return os.path.realpath(os.fsdecode(given)) if isinstance(given, str | bytes | os.PathLike) else None


def _writes(arguments: Sequence[Any]) -> bool:
    mode, flags = arguments[1:3]
    return any(letter in str(mode or "") for letter in "wax+") or bool(isinstance(flags, int) and flags & _WRITING)
