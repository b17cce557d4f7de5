"""Times checks of lawful programs on 1, 2, 3 and 4 replicas beside four bare runs, each in a process of its own.

python backends/tf_distribute/tests/tf_timed.py [NAME …]

A bare run is the program under TensorFlow's own MirroredStrategy, without simstrategy. Programs that cannot run on all
four numbers by themselves are left out: Keras ends with an error where a first batch has parts of unequal sizes. So is
one that is lawful only on numbers that give equal parts.
"""

import subprocess
import sys
import time
from pathlib import Path

from tf_corpus import TABLE, WRONG

COUNTS = (1, 2, 3, 4)
HERE = Path(__file__).resolve().parent
BARE = """
import sys
import tensorflow as tf
from tf_corpus import program_of

name, count = sys.argv[1], int(sys.argv[2])
processor = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(processor, [tf.config.LogicalDeviceConfiguration()] * count)
program_of(name)(tf.distribute.MirroredStrategy([f"CPU:{place}" for place in range(count)]))
"""
CHECK = """
import sys
from tf_corpus import program_of
from simstrategy_tf_distribute import replicas_agree

assert replicas_agree(program_of(sys.argv[1]), replicas=[1, 2, 3, 4]).verdict != "differ"
"""


def seconds_of(text, *arguments):
    """Returns what a process takes that runs a text; None where it fails."""
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", text, *arguments], cwd=HERE, capture_output=True, check=False)
    return None if done.returncode else time.monotonic() - began


def main(names):
    ratios, wrong = [], 0
    for name in sorted(set(TABLE) - set(WRONG)):
        if names and name not in names:
            continue
        if not {*COUNTS} <= {*TABLE[name].get("equal_parts_on", COUNTS)}:
            print(f"{name:44} is another program where parts are not equal", flush=True)
            continue
        bare = []
        for count in COUNTS:
            seconds = seconds_of(BARE, name, str(count))
            if seconds is None:
                print(f"{name:44} does not run alone on {count} replicas", flush=True)
                break
            bare.append(seconds)
        if len(bare) < len(COUNTS):
            continue
        checked = seconds_of(CHECK, name)
        if checked is None:
            print(f"{name:44} WRONG: the check differs or fails", flush=True)
            wrong += 1
            continue
        ratios.append(checked / sum(bare))
        print(f"{name:44} {checked:5.1f} s, bare {sum(bare):5.1f} s: {ratios[-1]:.2f}", flush=True)
    if ratios:
        print(f"{len(ratios)} programs: median {sorted(ratios)[len(ratios) // 2]:.2f}, largest {max(ratios):.2f}")
    return int(wrong > 0 or not ratios)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
