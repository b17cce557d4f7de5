"""A campaign on a Ray cluster of two nodes, one killed half-way, writes the report of the same campaign without Ray.

python3 ci/campaigns/on_cluster.py [--pair template] [--programs 100000] [--seed 0]
"""

import argparse
import os
import re
import secrets
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile

HERE = Path(__file__).parent
MADE = re.compile(r": (\d+) programs, ")


@contextmanager
def cluster(environment):
    """Gives the process of a cluster, and its address.  A cluster that does not start ends the command."""
    with TemporaryDirectory(prefix="ray") as folder, TemporaryFile("w+") as said:
        command = [sys.executable, str(HERE / "ray_nodes.py"), folder]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": said}
        process = subprocess.Popen(command, env=environment, text=True, **pipes)
        try:
            address = process.stdout.readline().strip()
            if not address:
                code = process.wait()
                said.seek(0)
                sys.exit(f"the cluster did not start: ray_nodes.py ended with {code}\n{said.read()[-4000:]}")
            yield process, address
        finally:
            with suppress(BrokenPipeError):
                process.stdin.close()
            process.wait(timeout=60)


def campaign(options, report, environment, place, on_line=lambda _: None):
    """Runs the campaign and returns what it printed, without its times."""
    command = [sys.executable, str(HERE / "campaign.py"), options.pair, "--programs", str(options.programs)]
    command += ["--seed", str(options.seed), "--on", place, "--report", str(report)]
    process = subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    others = []
    for line in process.stderr:
        found = MADE.search(line)
        if found:
            on_line(int(found[1]))
        else:
            others.append(line)
    printed = process.stdout.read()
    if process.wait():
        sys.exit(f"the campaign on {place} ended with {process.returncode}:\n{printed}\n{''.join(others[-20:])}")
    return printed[printed.index(f"{options.pair}: ") :]  # Ray prints before it that a node has ended


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pair", default="template")
    parser.add_argument("--programs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    loopback = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
    environment = {**os.environ, **token, **loopback}
    with TemporaryDirectory() as folder:
        reports, seconds, killed = [Path(folder) / name for name in ("cluster", "here")], [], []
        with cluster(environment) as (process, address):
            print(f"two nodes at {address.partition(':')[0]}, one CPU each")

            def kill_half_way(made):
                if not killed and 2 * made >= options.programs:
                    process.stdin.write("kill\n")
                    process.stdin.flush()
                    killed.append((process.stdout.readline().strip(), made))

            began = time.monotonic()
            on_it = {**environment, "RAY_ADDRESS": address}
            print(campaign(options, reports[0], on_it, "ray", kill_half_way), end="")
            seconds.append(time.monotonic() - began)
        began = time.monotonic()
        campaign(options, reports[1], os.environ, "here")
        seconds.append(time.monotonic() - began)
        same = reports[0].read_bytes() == reports[1].read_bytes()
    after = f"after {killed[0][1]} of {options.programs} programs" if killed else "NOT AT ALL"
    print(f"the second node was killed {after}")
    print(f"the report without Ray, in two processes: {'the same bytes' if same else 'ANOTHER ONE'}")
    print(f"time on the cluster: {seconds[0] / seconds[1]:.2f} of that without")
    return 0 if same and killed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
