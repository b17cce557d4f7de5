# ranks: 3
"""Keys and values: the store that holds the ranks together, one of the script's own, and a file."""

import datetime
import os
import tempfile

import torch.distributed as dist
from shown import show

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))

port = [None]
if rank == 0:
    own = dist.TCPStore("127.0.0.1", 0, size, is_master=True, wait_for_workers=False)
    port = [own.port]
dist.broadcast_object_list(port, src=0)
if rank:
    own = dist.TCPStore("127.0.0.1", port[0], size, is_master=False, wait_for_workers=False)


def use(store, name):
    """Counts all ranks in, waits until all are, and exchanges values."""
    store.set(f"of {rank}", f"value {rank * rank}")
    if store.add("arrived", 1) == size:
        store.set("all", "yes")
    store.wait(["all"], datetime.timedelta(seconds=30))
    values = [store.get(f"of {other}").decode() for other in range(size)]
    show(name, f"{values} {store.get('arrived').decode()}")
    if rank == 0:
        store.set("more", "")
    store.wait(["more"])
    show(f"{name}, checked", f"{store.check(['more', 'all'])} {store.check(['absent'])}")


use(own, "own store")
use(dist.PrefixStore("prefix", own), "prefixed store")
swapped = own.compare_set("swapped", "", "first") if rank == 0 else None
dist.barrier()
swapped = own.compare_set("swapped", "first", "second") if rank == 1 else swapped
dist.barrier()
show("swapped", f"{swapped} {own.get('swapped')}")
dist.barrier()
if rank == 2:
    show_deleted = own.delete_key("swapped")
dist.barrier()
show("deleted", own.check(["swapped"]))

folder = [tempfile.mkdtemp() if rank == 0 else None]
dist.broadcast_object_list(folder)
path = os.path.join(folder[0], "store")
files = dist.FileStore(path, size)
use(files, "file store")
dist.monitored_barrier(timeout=datetime.timedelta(seconds=60))
if rank == 0:
    os.remove(path)
    os.rmdir(folder[0])
dist.barrier()
dist.destroy_process_group()
