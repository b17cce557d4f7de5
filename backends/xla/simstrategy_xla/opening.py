"""Finds XLA devices and opens a backend on them; makes host CPU devices while that is still possible."""

import os
from contextlib import suppress

import jax

from simstrategy.errors import BackendUnavailable, InvalidArgument
from simstrategy_xla.backend import XlaBackend
from simstrategy_xla.namespace import config
from simstrategy_xla.topology import open_topology

__all__ = ["open_tpu", "open_xla"]

_CPUS_MIN = 8
"""Made at the first opening, because JAX can make no more later."""


def open_xla(*, replicas: int | None = None, platform: str | None = None, x64: bool | None = None) -> XlaBackend:
    """Opens a backend of one process on its first `replicas` (default 1) devices of `platform` (default JAX's).

    x64: switches jax_enable_x64 on or off for the whole process; None leaves it, and `capabilities` follow it.
    Raises InvalidArgument for an impossible number, BackendUnavailable where JAX has too few devices.
    """
    count = 1 if replicas is None else replicas
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise InvalidArgument(f"The backend 'xla' takes a number of replicas of at least 1, got {replicas!r}.")
    flag = "xla_force_host_platform_device_count"
    if platform in (None, "cpu") and flag not in os.environ.get("XLA_FLAGS", ""):
        with suppress(RuntimeError):  # JAX has started: what there is must do
            config.update("jax_num_cpu_devices", max(_CPUS_MIN, count, config.jax_num_cpu_devices))
    if x64 is not None:
        config.update("jax_enable_x64", x64)
    try:
        found = jax.local_devices(backend=platform)
    except RuntimeError as error:
        raise BackendUnavailable(
            f"JAX has no devices of platform {platform!r}: {error}. Install the jaxlib of that platform, or leave "
            f"platform out."
        ) from error
    if len(found) < count:
        raise BackendUnavailable(
            f"The backend 'xla' was asked for {count} replicas, and JAX has started with {len(found)} devices: "
            f"{', '.join(map(str, found))}. Host CPU devices are made before JAX's first use only: call "
            f'ss.backend("xla", replicas={count}) before any other use of JAX, or start Python with '
            f"XLA_FLAGS=--{flag}={count}."
        )
    return XlaBackend(tuple(found[:count]))


def open_tpu(*, replicas: int | None = None, topology: str | None = None, x64: bool | None = None) -> XlaBackend:
    """Opens a backend on TPUs; or, with a topology such as "v5e:2x4", one that compiles for TPUs and needs none.

    Such a one runs everything on as many host CPU devices as the topology has chips, and compiles each step of
    `Strategy.compile` for the topology as well: what is found there is in `compilation.examined`. Raises
    BackendUnavailable without TPUs, or without libtpu; InvalidArgument for a topology that does not exist or
    has not `replicas` chips.
    """
    if topology is None:
        return open_xla(replicas=replicas, platform="tpu", x64=x64)
    found = open_topology(topology)
    if replicas not in (None, len(found.devices)):
        raise InvalidArgument(
            f"The topology {topology!r} has {len(found.devices)} chips, and {replicas} replicas were asked for. Leave "
            f"replicas out, or name another topology."
        )
    backend = open_xla(replicas=len(found.devices), platform="cpu", x64=x64)
    backend.examine_for(found)
    return backend
