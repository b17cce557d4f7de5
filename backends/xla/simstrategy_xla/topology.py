"""TPU topologies without a TPU: programs are compiled for one by libtpu, read, and never run.

Opening one starts no device. libtpu reads the machine's description from the cloud's metadata service unless a
variable of the environment forbids it; this module sets the variable.
"""

import importlib.util
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, final

import jax
import numpy as np

from simstrategy.device import Capabilities, Compilation, Facts
from simstrategy.errors import BackendUnavailable, InvalidArgument
from simstrategy_xla.compilation import Form, JaxBody, JaxProgram, XlaCompilation
from simstrategy_xla.hlo import collectives_in
from simstrategy_xla.ranks import Spread

__all__ = ["TOPOLOGIES", "ExaminedCompilation", "Topology", "open_topology"]

TOPOLOGIES: Final = ("v4:2x2x1", "v5e:2x4", "v5p:2x2x2", "v6e:2x4")
"""Small ones of each generation that are known to compile; others may be named as well."""
_LIBRARY: Final = "TPU_LIBRARY_PATH"
"""JAX's own setting."""
_SETTINGS: Final = {"TPU_SKIP_MDS_QUERY": "1", "TPU_WORKER_HOSTNAMES": "localhost"}


@final
class Topology:
    """The devices of a TPU topology, as the compiler describes them."""

    def __init__(self, name: str, devices: Sequence[Any]) -> None:
        self.name = name
        self.devices = tuple(devices)

    def examine(
        self,
        body: JaxBody,
        forms: Sequence[Form],
        capabilities: Capabilities,
        dtypes: dict[str, np.dtype[Any]],
    ) -> Facts:
        """Compiles a program for all devices of the topology and reads it.  Raises CannotCompile."""
        compilation = XlaCompilation(Spread(self.devices, lambda outputs: None), capabilities, dtypes)
        compiled = compilation.compiled(body, forms)
        costs, memory = compiled.cost_analysis(), compiled.memory_analysis()
        return Facts(
            self.name,
            collectives_in(compiled.as_text()),
            float(costs.get("bytes accessed", 0.0)),
            float(costs.get("flops", 0.0)),
            float(costs.get("optimal_seconds", 0.0)),
            int(memory.argument_size_in_bytes),
            int(memory.output_size_in_bytes),
            int(memory.temp_size_in_bytes),
        )


@final
class ExaminedCompilation:
    """Compiles each program for this machine, which runs it, and for a topology, to examine it."""

    def __init__(
        self, inner: XlaCompilation, topology: Topology, capabilities: Capabilities, dtypes: dict[str, np.dtype[Any]]
    ) -> None:
        self._inner = inner
        self._topology = topology
        self._capabilities, self._dtypes = capabilities, dtypes
        self.examined: list[Facts] = []

    def trace(self, body: JaxBody, forms: Sequence[Form]) -> None:
        """Traces for this machine."""
        self._inner.trace(body, forms)

    def compile(self, body: JaxBody, forms: Sequence[Form]) -> JaxProgram:
        """Returns this machine's program, and keeps the findings about the topology's."""
        self.examined.append(self._topology.examine(body, forms, self._capabilities, self._dtypes))
        return self._inner.compile(body, forms)


def open_topology(name: str) -> Topology:
    """Returns the topology called `name`, such as "v5e:2x4".

    Raises BackendUnavailable without a usable libtpu, and InvalidArgument for a topology that it does not know.
    """
    for setting, value in _SETTINGS.items():
        os.environ.setdefault(setting, value)
    _require_libtpu()
    from jax.experimental import topologies  # noqa: PLC0415 - JAX looks for libtpu when this is imported

    try:
        found = topologies.get_topology_desc(platform="tpu", topology_name=name)
    except Exception as error:
        cause = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
        if isinstance(error, (ValueError, NotImplementedError)) or "topology" in cause.lower():
            raise InvalidArgument(
                f"There is no TPU topology {name!r}: {cause}. Name one as generation:shape, such as "
                f"{', '.join(TOPOLOGIES)}."
            ) from error
        raise BackendUnavailable(
            f"libtpu cannot be used: {cause}. Install the one that belongs to this jaxlib with: pip install "
            f"'simstrategy-xla[tpu]'"
        ) from error
    return Topology(name, found.devices)


def _require_libtpu() -> None:
    """Raises BackendUnavailable unless JAX will find libtpu: the file that is named, else the package."""
    named = os.environ.get(_LIBRARY)
    if named is not None and not os.path.isfile(named):
        raise BackendUnavailable(
            f"{_LIBRARY} names {named!r}, where there is no file. Let it name a libtpu.so, or unset it to use the "
            f"package libtpu."
        )
    if named is None and importlib.util.find_spec("libtpu") is None:
        raise BackendUnavailable(
            "Compiling for a TPU without one needs libtpu, which is not installed. It comes with: pip install "
            f"'simstrategy-xla[tpu]'. Where it is installed elsewhere, let {_LIBRARY} name its libtpu.so."
        )


if TYPE_CHECKING:
    _: type[Compilation[jax.Array]] = ExaminedCompilation
