"""What can only be run on a machine with a GPU; without one it says so and succeeds.

python3 ci/run.py gpu
"""

import sys

import simstrategy as ss


def main():
    import torch

    if not torch.cuda.is_available():
        print(f"gpu: skipped: PyTorch {torch.__version__} finds no GPU on this machine. No NCCL or GPU path was run.")
        return 0
    names = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    print(f"gpu: found {', '.join(names)}; backends installed: {', '.join(ss.backends())}")
    if "nccl" not in ss.backends():
        print("gpu: the backend nccl is not built yet, so nothing was run on it.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
