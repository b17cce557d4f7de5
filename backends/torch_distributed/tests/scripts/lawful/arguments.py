# ranks: 2
# arguments: --rate 0.5 --name "two words" -- --tail x=1
# lines: any order
"""What a script gets: its arguments, the variables of torch.distributed.run, its name; every rank prints."""

import argparse
import os
import sys

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record

NAMES = (
    "RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE GROUP_RANK GROUP_WORLD_SIZE ROLE_RANK ROLE_WORLD_SIZE ROLE_NAME"
    " TORCHELASTIC_RESTART_COUNT TORCHELASTIC_MAX_RESTARTS"
).split()


@record
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--name")
    parser.add_argument("rest", nargs="*")
    arguments = parser.parse_args()
    rank = int(os.environ["RANK"])
    lines = [f"{name}={os.environ[name]}" for name in NAMES]
    lines.append(f"address {bool(os.environ['MASTER_ADDR'])}, port {int(os.environ['MASTER_PORT']) > 0}")
    lines.append(f"run id {bool(os.environ['TORCHELASTIC_RUN_ID'])}, torchelastic {dist.is_torchelastic_launched()}")
    lines.append(f"{os.path.basename(sys.argv[0])} {sys.argv[1:]} {__name__} {os.path.basename(__file__)}")
    lines.append(f"beside: {os.path.basename(sys.path[0])}, main: {os.path.basename(sys.modules['__main__'].__file__)}")
    lines.append(f"{arguments}")
    print(*(f"[{rank}] {line}" for line in lines), sep="\n", flush=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dist.init_process_group(init_method="env://", backend="gloo" if device.type == "cpu" else "nccl")
    print(f"[{rank}] {dist.get_backend()} {dist.is_initialized()} {dist.get_node_local_rank()} {device}", flush=True)
    dist.destroy_process_group()
    sys.exit(0)


if __name__ == "__main__":
    main()
