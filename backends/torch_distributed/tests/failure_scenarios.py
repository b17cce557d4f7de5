"""Programs that fail, and what a run has to state of each: who, where and what to do.  It runs nothing."""

from typing import NamedTuple

from on_server import BEGIN


class Scenario(NamedTuple):
    """text: of the script.  code: the exit code of the run. shown: parts of its text, all of which have to be there.

    limit_s: the setting. is_quick: whether it runs in every run of the tests.
    """

    text: str
    code: int
    shown: tuple[str, ...]
    ranks: int = 2
    limit_s: float | None = None
    is_quick: bool = False


def _on_one(body: str, code: int, *shown: str, is_quick: bool = False, limit_s: float | None = None) -> Scenario:
    """Returns a scenario in which rank 1 does something, and rank 0 waits for it at line 8."""
    return Scenario(
        f"{BEGIN}def fail():\n    {body}\nrank == 1 and fail()\ndist.barrier()\n", code, shown, 2, limit_s, is_quick
    )


def _on_all(body: str, code: int, *shown: str, ranks: int = 2) -> Scenario:
    """Returns a scenario of which both ranks run the same lines; the first of them is line 5."""
    return Scenario(f"{BEGIN}{body}\n", code, shown, ranks)


_LATER = "Fix that failure first"
_WAITS = "rank 0: waits in barrier at script.py:8 for rank 1"
_ASLEEP = "no rank is left that could end it. Set the key or release the lock"

_ROWS = "class Rows(torch.utils.data.Dataset):\n    def __len__(self): return 2\n    def __getitem__(self, index):\n"
_LOADED = "list(torch.utils.data.DataLoader(Rows(), num_workers=1))"

SCENARIOS = {
    # A rank ends.
    "exception": _on_one(
        "raise ValueError('wrong')", 1, _LATER, "rank 1: ValueError(wrong) raised at script.py:6", is_quick=True
    ),
    "exit_code": _on_one("sys.exit(3)", 3, _LATER, "rank 1: called sys.exit(3)"),
    "exit_with_text": _on_one("sys.exit('no data')", 1, "rank 1: called sys.exit('no data')", "no data"),
    "exit_at_once": _on_one("os._exit(5)", 5, "rank 1: has ended with exit code 5", _WAITS),
    "exit_at_once_with_0": _on_one(
        "os._exit(0)", 1, _WAITS, "rank 1: has ended with exit code 0", "Make the calls on both sides"
    ),
    "early_return": _on_one(
        "sys.exit()", 1, _WAITS, "rank 1: has ended", "Make the calls on both sides", is_quick=True
    ),
    "other_program": _on_one("os.execvp('true', ['true'])", 1, _WAITS, "rank 1: has ended"),
    "import_error": _on_one("import not_there", 1, "No module named 'not_there'", "script.py:6", _LATER),
    "memory_error": _on_one("bytearray(1 << 62)", 1, "rank 1: MemoryError", "raised at script.py:6"),
    "tensor_too_large": _on_one("torch.empty(1 << 60)", 1, "rank 1: RuntimeError(", "script.py:6"),
    "recursion": _on_one("fail()", 1, "rank 1: RecursionError(maximum recursion depth exceeded", "script.py:6"),
    "interrupt": _on_one("raise KeyboardInterrupt", 1, "rank 1: KeyboardInterrupt", "script.py:6"),
    "error_without_text": _on_one("assert rank == 0", 1, "rank 1: AssertionError", "script.py:6"),
    "backward_of_ddp": _on_all(
        "model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))\n"
        "loss = model(torch.ones(1, 2)).sum()\nif rank == 1: raise ValueError('wrong')\nloss.backward()",
        1,
        _LATER,
        "rank 1: ValueError(wrong) raised at script.py:7",
        "PeerFailed: Rank 1 has failed",
    )._replace(is_quick=True),
    # A signal ends a rank, or stops it.
    "sigkill": _on_one("os.kill(os.getpid(), 9)", 137, "rank 1: was killed by signal 9", _WAITS, is_quick=True),
    "sigterm": _on_one("os.kill(os.getpid(), 15)", 143, "rank 1: was killed by signal 15", _WAITS),
    "sigstop": _on_one("os.kill(os.getpid(), 19)", 1, "Rank 1 was stopped by a signal, as SIGSTOP does", _WAITS),
    "segmentation_fault": _on_one("import ctypes; ctypes.string_at(0)", 139, "rank 1: was killed by signal 11", _WAITS),
    "abort": _on_one("os.abort()", 134, "rank 1: was killed by signal 6", _WAITS),
    "files_closed": _on_one(
        "os.closerange(3, 256); time.sleep(60)", 1, "rank 1: has closed its connection and gone on"
    ),
    # A rank neither calls nor ends.
    "endless_loop": _on_one(
        "while True: pass",
        1,
        "Rank 1 has neither called nor ended for 1 s",
        "script.py:6",
        "raise the limit",
        limit_s=1.0,
    ),
    "endless_sleep": _on_one("time.sleep(1e6)", 1, "Rank 1 has neither called", "script.py:6", _WAITS, limit_s=1.0),
    "lock": _on_one(
        "lock = threading.Lock(); lock.acquire(); lock.acquire()", 1, _ASLEEP, "a future at script.py:6", is_quick=True
    ),
    "condition": _on_one("c = threading.Condition(); c.acquire(); c.wait()", 1, _ASLEEP, "a future at script.py:6"),
    "event": _on_one("threading.Event().wait()", 1, _ASLEEP, "a future at script.py:6", _WAITS),
    "queue": _on_one("import queue; queue.Queue().get()", 1, _ASLEEP, "a future at script.py:6", _WAITS),
    "future": _on_one("torch.futures.Future().wait()", 1, _ASLEEP, "a future at script.py:6", _WAITS),
    "thread": _on_one(
        "t = threading.Thread(target=threading.Event().wait); t.start(); t.join()", 1, _ASLEEP, "script.py:6"
    ),
    "two_locks": _on_all(
        "a, b, both = threading.Lock(), threading.Lock(), threading.Barrier(2)\n"
        "def take(first, second):\n    with first:\n        both.wait()\n        second.acquire()\n"
        "threading.Thread(target=take, args=(b, a)).start()\ntake(a, b)",
        1,
        _ASLEEP,
        "rank 0: waits for a lock, a condition or a future at script.py:9",
    ),
    "key_of_the_store": _on_one(
        "dist.distributed_c10d._get_default_store().get('no')", 1, _ASLEEP, "a key of the store at script.py:6", _WAITS
    ),
    # Calls that do not fit.
    "other_call": _on_one(
        "dist.broadcast(torch.ones(2), 0)", 1, "rank 1: broadcast root 0 float32[2] at script.py:6", is_quick=True
    ),
    "thread_that_calls": _on_one(
        "t = threading.Thread(target=lambda: dist.all_reduce(torch.ones(2))); t.start(); t.join()",
        1,
        "rank 1: all_reduce SUM float32[2] at script.py:6",
        "rank 0: barrier at script.py:8",
        "Make the same calls in the same order",
    ),
    "root_outside": _on_one("dist.broadcast(torch.ones(2), 7)", 1, "rank 1: ", "script.py:6", _LATER),
    "send_alone": _on_one(
        "dist.send(torch.ones(2), 0)", 1, "rank 1: waits in send to rank 0 float32[2] at script.py:6", _WAITS
    ),
    "send_to_no_rank": _on_all(
        "if rank == 0: dist.send(torch.ones(2), rank - 1)\nelse: dist.recv(torch.ones(2), 0)",
        1,
        "rank 0: InvalidArgument(send to rank -1 at script.py:5: the ranks of the group are 0 to 1",
        "rank 1: waits in recv from rank 0 float32[2] at script.py:6",
    )._replace(is_quick=True),
    "receive_from_no_rank": _on_one(
        "dist.recv(torch.ones(2), -1)", 1, "recv from rank -1 at script.py:6: the ranks of the group are 0 to 1", _LATER
    ),
    "forked": _on_one(
        "os.fork() and os.wait()[1] and sys.exit(9) or dist.barrier()",
        9,
        "rank 1: called sys.exit(9)",
        "has forked calls barrier",
    ),
    "worker_calls": _on_all(
        f"{_ROWS}        dist.barrier()\n{_LOADED}",
        1,
        "ContextError(Caught ContextError in DataLoader worker process 0.) raised at script.py:9",
        "In that process, at script.py:8: ",
        "Only the rank itself can",
    ),
    "worker_fails": _on_all(
        f"{_ROWS}        if rank: raise ValueError('no row')\n        return 0\n{_LOADED}\ndist.barrier()",
        1,
        "rank 1: ValueError(Caught ValueError in DataLoader worker process 0.) raised at script.py:10",
        "In that process, at script.py:8: ValueError: no row",
        "rank 0: waits in barrier at script.py:11",
    ),
    "worker_dies": _on_all(
        f"{_ROWS}        os._exit(3)\n{_LOADED}", 1, "DataLoader worker (pid", "exited unexpectedly", "script.py:9"
    ),
    "not_picklable": _on_one("dist.all_gather_object([None] * 2, lambda: 0)", 1, "rank 1: ", "script.py:6", _LATER),
    # Groups.
    "init_twice": _on_all(
        "dist.init_process_group('gloo')", 1, "initialize the default process group twice", "script.py:5"
    ),
    "never_initialised": Scenario(
        "import torch, torch.distributed as dist\ndist.barrier()\n",
        1,
        ("has not been initialized", "script.py:2", _LATER),
    ),
    "destroyed": _on_all(
        "dist.destroy_process_group()\ndist.barrier()", 1, "has not been initialized", "script.py:6", _LATER
    ),
    "wrong_world_size": Scenario(
        "import os\nimport torch.distributed as dist\n"
        "dist.init_process_group('gloo', rank=int(os.environ['RANK']), world_size=5)\ndist.barrier()\n",
        1,
        ("script.py:3", "world_size=5 in rank 1 of 2 simulated ranks. Leave both out"),
    ),
    "same_rank_twice": Scenario(
        "import torch.distributed as dist\ndist.init_process_group('gloo', rank=0, world_size=2)\ndist.barrier()\n",
        1,
        ("script.py:2", "rank=0 and world_size=2 in rank 1 of 2 simulated ranks"),
    ),
    "large_mesh": _on_all(
        "from torch.distributed.device_mesh import init_device_mesh\ninit_device_mesh('cpu', (4, 4))",
        1,
        "Mesh should not be bigger than default world size 2",
        "script.py:6",
    ),
    "group_outside": _on_all("dist.new_group([0, 9])", 1, "script.py:5", "rank 0: ", _LATER),
    # What is not there.
    "nccl": Scenario(
        "import torch.distributed as dist\ndist.init_process_group('nccl')\n",
        1,
        ("pass the backend gloo, or none", "script.py:2"),
    ),
    "cuda_device": _on_all("torch.cuda.set_device(rank)", 1, "Simulated ranks have the CPU alone", "script.py:5"),
    "cuda_mesh": _on_all(
        "from torch.distributed.device_mesh import init_device_mesh\ninit_device_mesh('cuda', (2,))",
        1,
        "or pass --device cpu-for-cuda",
        "script.py:6",
    ),
    "device_ids": _on_all(
        "torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1), device_ids=[0])",
        1,
        "leave device_ids and output_device out",
        "script.py:5",
    ),
    "unknown_backend": Scenario(
        "import torch.distributed as dist\ndist.init_process_group('glou')\n",
        1,
        ("Unknown backend type glou", "pass the backend gloo, or none", "script.py:2"),
    ),
    "remote_procedures": Scenario(
        "import os\nfrom torch.distributed import rpc\nrank = int(os.environ['RANK'])\n"
        "rpc.init_rpc(str(rank), rank=rank, world_size=2)\n",
        1,
        ("torch.distributed.rpc.init_rpc at script.py:4", "Such a program cannot be checked"),
    ),
    "cuda_tensor": _on_all("torch.ones(2).cuda()", 1, "Simulated ranks have the CPU alone", "script.py:5"),
    "meta_tensor": _on_all("dist.all_reduce(torch.ones(2, device='meta'))", 1, "Move it: tensor.cpu()", "script.py:5"),
    "unsupported_dtype": _on_all(
        "dist.all_reduce(torch.ones(2).to(torch.float8_e5m2))",
        1,
        "Convert the tensor, for example to float32",
        "script.py:5",
    ),
    "unsupported_reduction": _on_all(
        "dist.all_reduce(torch.ones(2), dist.ReduceOp.BAND)", 1, "BAND of floating", "script.py:5"
    ),
    "input": _on_all("input()", 1, "A simulated rank has no input", "script.py:5"),
    # Programs that do not run.
    "syntax_error": Scenario("def f(:\n", 1, ("SyntaxError", "script.py, line 1", _LATER)),
    "null_bytes": Scenario("print(1)\0\n", 1, ("SyntaxError", "null bytes")),
    "megabytes": _on_one(
        "print('x' * 5_000_000); raise ValueError('wrong')", 1, "ValueError(wrong) raised at script.py:6"
    ),
    "many_ranks": _on_all(
        "if rank == 23: raise ValueError('wrong')\ndist.barrier()", 1, "rank 23: ValueError(wrong)", ranks=24
    ),
}
