"""A Ray cluster of two nodes on 127.0.0.1, each with one CPU: prints its address, and kills the second node when asked.

    python3 ci/campaigns/ray_nodes.py FOLDER [PORT]

The address comes when the client server answers, which Ray starts last and does not wait for. It reads lines: `kill`
ends the second node at once; the end of the input ends the cluster. FOLDER has what Ray writes; its name is short.
PORT: of Ray's client server, for ray://127.0.0.1:PORT.

Ray's own utility for tests starts the nodes, since `ray start` binds to all interfaces.
"""

import os
import sys
import time
from socket import create_connection

os.environ |= {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}

from ray.cluster_utils import Cluster

STORE = 100_000_000
ANSWER_S = 120


def wait_for(port):
    """Returns when something listens at a port of this machine; raises OSError where nothing does in two minutes."""
    end = time.monotonic() + ANSWER_S
    while True:
        try:
            return create_connection(("127.0.0.1", port), timeout=ANSWER_S).close()
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def main(arguments):
    # Where Ray notes the address of the cluster; it makes no folder for that, and else all clusters have one in common.
    os.environ["RAY_TMPDIR"] = arguments[0]
    os.makedirs(os.path.join(arguments[0], "ray"), exist_ok=True)
    given = {"num_cpus": 1, "object_store_memory": STORE}
    head = {**given, "include_dashboard": False, "temp_dir": arguments[0]}
    if arguments[1:]:
        head["ray_client_server_port"] = int(arguments[1])
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        second = cluster.add_node(**given)
        if arguments[1:]:
            wait_for(int(arguments[1]))
        print(cluster.address, flush=True)
        for line in sys.stdin:
            if line.strip() == "kill":
                cluster.remove_node(second, allow_graceful=False)
                print("killed", flush=True)
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    main(sys.argv[1:])
