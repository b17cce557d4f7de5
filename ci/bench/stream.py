"""Streams a large set of records through 8 replicas: how fast beside tf.data on the same files, and in how much memory.

Each pass runs in a process of its own. Memory is the peak of the resident set (VmHWM, so Linux only), above what the
process held when the pass began: an interpreter with its imports done and its strategy opened. Every subject
takes its turn in every round; a rate is of its best round, by the clock on the wall. It trains nothing.

    python3 ci/bench/stream.py [--large-mib 1024] [--small-mib 32] [--rounds 3]
"""

import argparse
import json
import os
import resource
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPLICAS = 8
FILES = 8
MEMORY_MAX_MIB = 300
RATIO_MIN = 0.5
SETS = {"large": ((10 << 10, 100 << 10), 64), "small": ((100, 500), 1024)}
"""Of each set: the sizes of its records in bytes, from and to, and the records of a global batch."""
OURS = ("simstrategy, distributed", "simstrategy, distributed, TF2", "simstrategy, batched", "simstrategy, records")
THEIRS = {
    "simstrategy, distributed": "tf.data, distributed",
    "simstrategy, distributed, TF2": "tf.data, distributed",
    "simstrategy, batched": "tf.data, batched",
    "simstrategy, records": "tf.data, records",
}
"""What each of ours is held against."""
SUBJECTS = (*OURS, *dict.fromkeys(THEIRS.values()))


def masked(data):
    """Returns the checksum of some bytes as TFRecord files have it."""
    import google_crc32c

    crc = google_crc32c.value(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def write(folder, sizes, mib):
    """Writes FILES files of random records, `mib` MiB altogether; returns the number of records and their bytes."""
    import numpy as np

    random = np.random.default_rng(20)
    records = size_total = 0
    for number in range(FILES):
        with open(folder / f"{number}.tfrecord", "wb") as file:
            left = (mib << 20) // FILES
            while left > 0:
                size = int(random.integers(*sizes))
                head, data = struct.pack("<Q", size), random.bytes(size)
                file.write(head + struct.pack("<I", masked(head)) + data + struct.pack("<I", masked(data)))
                left -= size
                records += 1
                size_total += size
    return records, size_total


def resident_mib(field):
    """Returns a field of this process's memory, VmRSS now or VmHWM at its peak, in MiB."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(field)) / 1024


def ours(subject, files, batch_size):
    """Returns a function that goes over all records once, and counts them and their bytes."""
    import google_crc32c  # noqa: F401 - its memory belongs to the imports

    import simstrategy as ss

    records = ss.data.TFRecordDataset(files)
    if subject.endswith("records"):
        return lambda: sums((1, len(one.item())) for one in records)
    batches = records.batch(batch_size)
    if subject.endswith("batched"):
        return lambda: sums((len(one), sum(map(len, one))) for one in batches)
    semantics = ss.Semantics.TF2 if subject.endswith("TF2") else ss.Semantics.TF1_15
    strategy = ss.Strategy.mirrored("sim", replicas=REPLICAS, semantics=semantics)
    steps = strategy.experimental_distribute_dataset(batches)
    return lambda: sums((len(part), sum(map(len, part))) for step in steps for part in step.values)


def theirs(subject, files, batch_size):
    """Returns the same of tf.data, which counts records alone: its bytes stay in its own tensors."""
    import tensorflow as tf

    (cpu,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * REPLICAS)
    records = tf.data.TFRecordDataset(files)
    if subject.endswith("records"):
        return lambda: sums((1, None) for _ in records)
    batches = records.batch(batch_size).prefetch(tf.data.AUTOTUNE)
    if subject.endswith("batched"):
        return lambda: sums((int(one.shape[0]), None) for one in batches)
    strategy = tf.distribute.MirroredStrategy([f"cpu:{number}" for number in range(REPLICAS)])
    steps = strategy.experimental_distribute_dataset(batches)
    return lambda: sums((int(part.shape[0]), None) for step in steps for part in step.values)


def sums(counted):
    """Adds up pairs of a number of records and their bytes; None stands for bytes that are not looked at."""
    records, size_total = 0, 0
    for count, size in counted:
        records += count
        size_total = None if size is None else size_total + size
    return records, size_total


def one_pass(subject, folder, batch_size):
    """Goes over a set once, in this process, and prints what it took."""
    files = sorted(str(path) for path in Path(folder).iterdir())
    go = (ours if subject in OURS else theirs)(subject, files, batch_size)
    before, begun = resident_mib("VmRSS"), time.perf_counter()
    cpu = resource.getrusage(resource.RUSAGE_SELF)
    records, size_total = go()
    seconds, used = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_SELF)
    found = {
        "records": records,
        "bytes": size_total,
        "seconds": seconds,
        "cpu_seconds": used.ru_utime + used.ru_stime - cpu.ru_utime - cpu.ru_stime,
        "before_mib": before,
        "peak_mib": resident_mib("VmHWM"),
    }
    print(json.dumps(found))


def measured(subject, folder, batch_size):
    """Returns what a pass in a process of its own took."""
    command = [sys.executable, __file__, "--subject", subject, "--folder", str(folder), "--batch", str(batch_size)]
    quiet = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=quiet)
    if done.returncode:
        raise SystemExit(f"{subject}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def compare(name, folder, mib, rounds):
    """Measures all subjects on one set and prints a table; returns what falls short."""
    sizes, batch_size = SETS[name]
    records, size_total = write(folder, sizes, mib)
    print(
        f"{name}: {records} records of {sizes[0]} to {sizes[1]} bytes, {size_total / 2**20:.0f} MiB in {FILES} files,"
    )
    print(f"batches of {batch_size}, {REPLICAS} replicas, best of {rounds} rounds\n")
    passes = {subject: [] for subject in SUBJECTS}
    for _ in range(rounds):
        for subject, taken in passes.items():
            taken.append(measured(subject, folder, batch_size))
    rates = {subject: size_total / 2**20 / min(one["seconds"] for one in taken) for subject, taken in passes.items()}
    short = []
    print(f"{'':32}{'MiB/s':>8}{'records/s':>11}{'CPU s/GiB':>11}{'began at':>11}{'peak above':>13}{'ratio':>8}")
    for subject, taken in passes.items():
        cpu = min(one["cpu_seconds"] for one in taken) * 2**30 / size_total
        before = max(one["before_mib"] for one in taken)
        above = max(one["peak_mib"] - one["before_mib"] for one in taken)
        ratio = rates[subject] / rates[THEIRS[subject]] if subject in OURS else None
        print(
            f"{subject:32}{rates[subject]:8.0f}{rates[subject] * 2**20 * records / size_total:11.0f}{cpu:11.2f}"
            f"{before:7.0f} MiB{above:9.0f} MiB{'' if ratio is None else f'{ratio:8.2f}'}"
        )
        if any(one["records"] != records or one["bytes"] not in (None, size_total) for one in taken):
            short.append(f"{name}: {subject} does not see all records")
        if subject in OURS and above > MEMORY_MAX_MIB:
            short.append(f"{name}: {subject} takes {above:.0f} MiB, more than {MEMORY_MAX_MIB}")
        bounded = ratio is not None and (name == "large" or "distributed" in subject)
        if bounded and ratio < RATIO_MIN:
            short.append(f"{name}: {subject} runs at {ratio:.2f} of tf.data, less than {RATIO_MIN}")
    print()
    return short


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--large-mib", type=int, default=1024)
    parser.add_argument("--small-mib", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--subject", choices=SUBJECTS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    parser.add_argument("--batch", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.subject:
        return one_pass(asked.subject, asked.folder, asked.batch)
    short = []
    for name, mib in (("large", asked.large_mib), ("small", asked.small_mib)):
        with tempfile.TemporaryDirectory(prefix="simstrategy-stream-") as folder:
            short += compare(name, Path(folder), mib, asked.rounds)
    print(
        f"bounds: at most {MEMORY_MAX_MIB} MiB above the start; at least {RATIO_MIN} of tf.data's rate, but for small"
    )
    print(
        "records that are not distributed, whose rate is stated: tf.data reads them in threads, and Python one by one"
    )
    print("FALLS SHORT: " + "; ".join(short) if short else "kept")
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
