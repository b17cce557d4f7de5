"""TPU topologies without a TPU: programs are compiled for one by libtpu, read, and never run.

Opening one starts no device. libtpu asks the cloud who it is unless told not to; it is told here.
"""

import importlib
import os
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, final

import numpy as np

from simstrategy.device import Capabilities, ProgramBody
from simstrategy.errors import BackendUnavailable, InvalidArgument
from simstrategy_xla.compilation import Form, XlaCompilation
from simstrategy_xla.hlo import Collective, collectives_in

__all__ = ["TOPOLOGIES", "Facts", "Topology", "open_topology"]

TOPOLOGIES: Final = ("v4:2x2x2", "v5e:2x4", "v5p:2x2x2", "v6e:2x4")
"""Small ones of each generation that are known to compile; others may be named as well."""
_SETTINGS: Final = {"TPU_SKIP_MDS_QUERY": "1", "TPU_WORKER_HOSTNAMES": "localhost"}


class Facts(NamedTuple):
    """What the compiler says of one program on one rank."""

    collectives: tuple[Collective, ...]
    bytes_accessed: float
    flops: float
    seconds: float
    """The compiler's own estimate of the time of one run."""
    argument_bytes: int
    output_bytes: int
    temporary_bytes: int


@final
class Topology:
    """The devices of a TPU topology as a compiler knows them."""

    def __init__(self, name: str, devices: Sequence[Any]) -> None:
        self.name = name
        self.devices = tuple(devices)

    def examine(
        self, body: ProgramBody, forms: Sequence[Form], capabilities: Capabilities, dtypes: dict[str, np.dtype[Any]]
    ) -> Facts:
        """Compiles a program for all devices of the topology and reads it.  Raises CannotCompile."""
        compilation = XlaCompilation(self.devices, capabilities, dtypes, waits=False)
        compiled = compilation.compile(body, forms).compiled
        costs, memory = compiled.cost_analysis(), compiled.memory_analysis()
        return Facts(
            collectives_in(compiled.as_text()),
            float(costs.get("bytes accessed", 0.0)),
            float(costs.get("flops", 0.0)),
            float(costs.get("optimal_seconds", 0.0)),
            int(memory.argument_size_in_bytes),
            int(memory.output_size_in_bytes),
            int(memory.temp_size_in_bytes),
        )


def open_topology(name: str) -> Topology:
    """Returns the topology called `name`, such as "v5e:2x4".

    Raises BackendUnavailable without a usable libtpu, and InvalidArgument for a topology that it does not know.
    """
    for setting, value in _SETTINGS.items():
        os.environ.setdefault(setting, value)
    try:
        importlib.import_module("libtpu")
    except ImportError as error:
        raise BackendUnavailable(
            "Compiling for a TPU without one needs libtpu, which is not installed. It comes with: pip install "
            "'simstrategy-xla[tpu]'"
        ) from error
    from jax.experimental import topologies  # noqa: PLC0415 - JAX looks for libtpu when this is imported

    try:
        found = topologies.get_topology_desc(platform="tpu", topology_name=name)
    except Exception as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        if isinstance(error, (ValueError, NotImplementedError)) or "topology" in said.lower():
            raise InvalidArgument(
                f"There is no TPU topology {name!r}: {said} Name one as generation:shape, such as "
                f"{', '.join(TOPOLOGIES)}."
            ) from error
        raise BackendUnavailable(
            f"libtpu cannot describe {name!r}: {said} Reinstall libtpu, and see its log."
        ) from error
    return Topology(name, found.devices)
