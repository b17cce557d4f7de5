"""What can only be run on a machine with TPUs; without one it says so and succeeds.

    python3 ci/run.py tpu [--evidence FILE]
    python3 ci/tpu.py --host-devices 1,2,4,8 [--profile quick]

Runs the conformance kit on the backend `tpu`, and the examples with as many replicas as there are devices. With
--host-devices, the kit on `xla` in processes that have so many host CPU devices and no more, where more replicas than
devices are all on the first one: TPUs play no part.
"""

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from evidence import COMMAND, ROOT, Evidence, arguments, ended, versions

EXCEPTIONS = ROOT / "backends" / "xla" / "simstrategy_xla" / "conformance.toml"
LIMIT_S = 3600.0
LOOK_LIMIT_S = 120.0
LOOK = "import jax; found = jax.local_devices(backend='tpu'); print(len(found), found[0].device_kind)"
EXAMPLES = ("train_digits.py", "compiled_digits.py")
FACTORY = "tpu:open_here"
"""What the kit opens with host devices."""
TOLD = 6
"""Lines of a command that failed."""


def open_here(*, replicas=None):
    """Opens `xla` for the kit: one replica on each device, or all on the first one where there are too few."""
    import jax

    import simstrategy as ss

    if isinstance(replicas, int) and replicas > len(found := jax.local_devices()):
        return ss.backend("xla", devices=[str(found[0])] * replicas)
    return ss.backend("xla", replicas=replicas)


def devices():
    """Returns how many TPU devices JAX finds and their kind, or 0 and why there are none."""
    code, told = ended([sys.executable, "-c", LOOK], LOOK_LIMIT_S, folder=ROOT)
    if code is None:
        return 0, f"JAX did not say within {LOOK_LIMIT_S:g} s whether there is one"
    if code:
        return 0, (told or ["JAX said nothing"])[-1]
    count, _, kind = told[-1].partition(" ")
    return int(count), kind


def run(what, command, *, folder=ROOT, **settings):
    """Runs a command; returns a line that begins with FAILED where it did, with the end of what it printed."""
    code, told = ended(command, LIMIT_S, folder=folder, **settings)
    if code is None:
        return f"FAILED: {what}: did not end in {LIMIT_S:g} s"
    if code:
        return "\n  ".join([f"FAILED: {what}: exit code {code}", *told[-TOLD:]])
    counts = [line for line in told if " passed" in line]
    return f"{what}: {(counts or told)[-1].strip('= ') if told else 'ended with 0'}"


def on_tpus(count, profile):
    """Runs all parts on this machine's TPUs; yields a line for each."""
    yield run("kit on tpu", [*COMMAND, "conform", "tpu", "--profile", profile])
    counts = [number for number in (1, 2, 4, 8) if number <= count]
    shown = ",".join(map(str, counts))
    check = [*COMMAND, "check", f"examples/{EXAMPLES[0]}", "--backends", "sim,tpu", "--replicas", shown]
    yield run(f"{EXAMPLES[0]} on sim and tpu, {shown} replicas", check)
    for number in counts:
        yield run(EXAMPLES[1], [sys.executable, f"examples/{EXAMPLES[1]}", "tpu", str(number)])


def exceptions_for(count, folder):
    """Returns the file of the exceptions of `xla`, which hold for `FACTORY` where its sums are between devices."""
    file = Path(folder) / f"exceptions{count}.toml"
    name = FACTORY if count > 1 else "xla"
    file.write_text(EXCEPTIONS.read_text("utf-8").replace('backend = "xla"', f'backend = "{name}"'), "utf-8")
    return file


def on_host_devices(counts, profile, folder):
    """Runs the kit on `xla` with each number of host devices; yields a line for each."""
    for count in counts:
        flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={count}".strip()
        settings = {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
        exceptions = str(exceptions_for(count, folder))
        command = [*COMMAND, "conform", FACTORY, "--exceptions", exceptions, "--profile", profile]
        yield run(f"kit on xla, {count} host devices", command, folder=ROOT / "ci", **settings)


def main():
    parser = arguments(__doc__)
    parser.add_argument("--profile", default="default", choices=("quick", "default", "deep"))
    parser.add_argument("--host-devices", type=lambda text: [int(one) for one in text.split(",")])
    options = parser.parse_args()
    evidence = Evidence()
    evidence.add(versions("jax", "jaxlib", "libtpu", "numpy"))
    folder = TemporaryDirectory(prefix="simstrategy-")
    if options.host_devices:
        parts = on_host_devices(options.host_devices, options.profile, folder.name)
    else:
        count, kind = devices()
        if not count:
            parts = [f"skipped: JAX finds no TPU on this machine ({kind}). Nothing was run on one."]
        else:
            print(f"{count} devices: {kind}", flush=True)
            parts = on_tpus(count, options.profile)
    for line in parts:
        evidence.add(line)
    folder.cleanup()
    evidence.write(options.evidence)
    return evidence.exit_code


if __name__ == "__main__":
    sys.exit(main())
