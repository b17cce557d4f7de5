"""Runs a script on torch's own threaded group, which torch uses for its tests: each rank is a thread of one process.

    python -m simstrategy_corpus.thread_ranks RANKS SCRIPT [ARGUMENT …]

Whatever backend the script names, it gets the threaded one. Ranks share what threads share: random numbers, the
environment, modules. The first rank that fails ends the others.
"""

import os
import sys
import threading
import traceback
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import CodeType
from typing import Any


def main(ranks: int, script: Path) -> int:
    """Runs a script on `ranks` threads; returns 1 if one of them failed, else 0."""
    distributed, threaded = import_module("torch.distributed"), import_module(_THREADED)
    # As torch's own tests do: there is no public way.
    import_module("torch._C._distributed_c10d")._set_thread_isolation_mode(True)  # noqa: SLF001
    threaded._install_threaded_pg()  # noqa: SLF001
    store, own, begin = distributed.HashStore(), threading.local(), vars(distributed)[_BEGIN]

    def begin_here(*_: object, **__: object) -> None:
        begin(backend="threaded", rank=own.rank, world_size=ranks, store=store)

    vars(distributed)[_BEGIN] = begin_here
    code = compile(script.read_text(encoding="utf-8"), str(script), "exec")
    failed: list[int] = []

    def rank_ended(rank: int) -> None:
        own.rank = rank
        error = _error_of(code, {"__name__": "__main__", "__file__": str(script)})
        if error is not None:
            failed.append(rank)
            threaded.ProcessLocalGroup.exception_handle(error)  # the others' collectives raise

    threads = [threading.Thread(target=rank_ended, args=(rank,)) for rank in range(ranks)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return int(bool(failed))


def _error_of(code: CodeType, names: Mapping[str, Any]) -> BaseException | None:
    """Executes a script; returns what it raised, which it prints, or None where it ended well."""
    try:
        exec(code, dict(names))  # noqa: S102 - a script is text that is executed
    except SystemExit as error:
        return error if error.code else None
    except BaseException as error:  # noqa: BLE001 - whatever a script raises is its end
        traceback.print_exc()
        return error
    return None


_BEGIN = "init_process_group"
_THREADED = "torch.testing._internal.distributed.multi_threaded_pg"

if __name__ == "__main__":
    count, file = int(sys.argv[1]), Path(sys.argv[2])
    del sys.argv[:2]
    sys.path.insert(0, str(file.parent))
    ended = main(count, file)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(ended)  # a thread of torch that still waits does not keep the process
