"""What is missing is told whole, with the way out: TensorFlow, devices, a GPU.  A process of its own for each."""

import subprocess
import sys

import pytest

OPEN = """
import simstrategy as ss
try:
    ss.Strategy.mirrored({given})
except ss.errors.SimStrategyError as error:
    print(f"{{type(error).__name__}}: {{error}}")
"""

NO_TENSORFLOW = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "tensorflow":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
"""

STARTED = "import tensorflow as tf\ntf.zeros(1)\n"

TOO_FEW = (
    "BackendUnavailable: The backend 'tensorflow' was asked for CPU:0, CPU:1, CPU:2, and TensorFlow has started with 1 "
    "devices: /device:CPU:0. Logical CPUs are made before TensorFlow's first call only: call "
    'ss.backend("tensorflow", replicas=3) before any other, make them yourself with '
    "tf.config.set_logical_device_configuration, or let one device hold several replicas: "
    'devices=["CPU:0"] * 3.'
)
TOO_FEW_MADE = TOO_FEW.replace("1 devices: /device:CPU:0.", "2 devices: /device:CPU:0, /device:CPU:1.")
TWO = (
    "import tensorflow as tf\n"
    "cpu = tf.config.list_physical_devices('CPU')[0]\n"
    "tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)\n"
    "tf.zeros(1)\n"
    "import simstrategy as ss\n"
    "ss.Strategy.mirrored('tensorflow', replicas=2)  # these will do\n"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "given", "told"),
    [
        pytest.param(
            NO_TENSORFLOW,
            "'tensorflow', replicas=2",
            "BackendUnavailable: Backend 'tensorflow' cannot be imported: No module named 'tensorflow'. "
            "In a checkout of simstrategy, install it with: pip install ./backends/tensorflow",
            id="no TensorFlow",
        ),
        pytest.param(STARTED, "'tensorflow', replicas=3", TOO_FEW, id="started", marks=pytest.mark.deep),
        pytest.param(TWO, "'tensorflow', replicas=3", TOO_FEW_MADE, id="too few devices", marks=pytest.mark.deep),
        pytest.param(
            "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = ''",
            "'tensorflow', devices=['GPU:0']",
            "BackendUnavailable: The backend 'tensorflow' was asked for GPU:0, and TensorFlow sees no GPU. See whether "
            "nvidia-smi lists it and TensorFlow is built for it (pip install 'tensorflow[and-cuda]'); or use CPUs: "
            "ss.backend('tensorflow', replicas=1).",
            id="no GPU",
            marks=pytest.mark.deep,
        ),
    ],
)
def test_what_is_missing_is_told_with_the_way_out(before: str, given: str, told: str) -> None:
    command = [sys.executable, "-c", before + OPEN.format(given=given)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout == f"{told}\n"
