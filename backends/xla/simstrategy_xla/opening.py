"""Finds XLA devices and opens a backend on them; makes host CPU devices while that is still possible."""

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import jax

from simstrategy.errors import BackendUnavailable, InvalidArgument
from simstrategy.short_repr import short_repr
from simstrategy_xla.backend import XlaBackend
from simstrategy_xla.namespace import config
from simstrategy_xla.reference.interpreter import ranks_max
from simstrategy_xla.topology import open_topology

__all__ = ["make_host_devices", "open_tpu", "open_xla"]

_FLAG: Final = "xla_force_host_platform_device_count"
_CPUS_MIN: Final = 8
"""Made at the first opening, because JAX can make no more later."""


def open_xla(
    *,
    replicas: int | None = None,
    devices: Sequence[str] | None = None,
    platform: str | None = None,
    x64: bool | None = None,
    interpreted: bool = False,
) -> XlaBackend:
    """Opens a backend of one process on its first `replicas` (default 1) devices of `platform` (default JAX's).

    devices: JAX's names of them instead, one for each replica, such as ["cuda:0", "cuda:1"]; the same name for
    all puts all replicas on one device. x64: switches jax_enable_x64 on or off for the whole process; None leaves
    it, and `capabilities` follow it. interpreted: runs the programs of `Strategy.compile` by StableHLO's reference
    interpreter instead, which takes as many replicas as there are processors; slow, to compare with XLA. Raises
    InvalidArgument for an impossible number or an unknown name, BackendUnavailable where JAX has too few devices.
    """
    count = _counted(replicas, devices)
    if interpreted:
        _require_interpretable(count, devices)
    make_host_devices(count if devices is None else 1, platform)
    if x64 is not None:
        config.update("jax_enable_x64", x64)
    try:
        found = jax.local_devices(backend=platform)
    except RuntimeError as error:
        raise BackendUnavailable(
            f"JAX has no devices of platform {platform!r}: {_first_line(error)}. Install the jaxlib of that platform, "
            f"or leave platform out."
        ) from error
    if devices is not None:
        return _opened(_named(devices, found), interpreted=interpreted)
    if len(found) < count:
        own = str(found[0])
        raise BackendUnavailable(
            f"The backend 'xla' was asked for {count} replicas, and JAX has started with {len(found)} devices: "
            f"{', '.join(map(str, found))}. Host CPU devices are made before JAX's first use only: call "
            f'ss.backend("xla", replicas={count}) before any other use of JAX, or start Python with '
            f"XLA_FLAGS=--{_FLAG}={count}. To put all replicas on one device, name it for each: "
            f'ss.backend("xla", devices=["{own}"] * {count}).'
        )
    return _opened(tuple(found[:count]), interpreted=interpreted)


def _opened(devices: tuple[jax.Device, ...], *, interpreted: bool) -> XlaBackend:
    backend = XlaBackend(devices)
    if interpreted:
        backend.interpret()
    return backend


def _require_interpretable(count: int, devices: Sequence[str] | None) -> None:
    if count > ranks_max():
        raise BackendUnavailable(
            f"StableHLO's interpreter runs each replica on a processor of its own, and this process has {ranks_max()}: "
            f"{count} replicas would wait for ever. Open at most {ranks_max()}, or leave out interpreted=True."
        )
    if devices is not None and len(set(devices)) < count:
        raise InvalidArgument(
            f"StableHLO's interpreter takes one device for each replica, got {', '.join(map(str, devices))}. Name "
            f"different devices, or leave out interpreted=True."
        )


def _counted(replicas: int | None, devices: Sequence[str] | None) -> int:
    if devices is not None and (isinstance(devices, str) or not devices):
        raise InvalidArgument(
            f"devices is a list of JAX's names for them, one for each replica, got {short_repr(devices)}."
        )
    count = (1 if devices is None else len(devices)) if replicas is None else replicas
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise InvalidArgument(
            f"The backend 'xla' takes a number of replicas of at least 1, got {short_repr(replicas)}."
        )
    if devices is not None and len(devices) != count:
        raise InvalidArgument(
            f"The backend 'xla' was asked for {count} replicas on {len(devices)} devices: "
            f"{', '.join(map(str, devices))}. Name one device for each replica, and the same one several times where "
            f"they share it."
        )
    return count


def make_host_devices(count: int, platform: str | None) -> None:
    """Makes at least so many host CPU devices, if JAX has not started yet and XLA_FLAGS gives no number of them."""
    if platform in (None, "cpu") and _FLAG not in os.environ.get("XLA_FLAGS", ""):
        with suppress(RuntimeError):  # JAX has started: what there is must do
            config.update("jax_num_cpu_devices", max(_CPUS_MIN, count, config.jax_num_cpu_devices))


def _named(names: Sequence[str], found: Sequence[jax.Device]) -> tuple[jax.Device, ...]:
    known = {str(device): device for device in found}
    for name in names:
        if name not in known:
            raise InvalidArgument(f"JAX has no device {name!r} here. Its devices are {', '.join(known)}.")
    return tuple([known[name] for name in names])


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def open_tpu(*, replicas: int | None = None, topology: str | None = None, x64: bool | None = None) -> XlaBackend:
    """Opens a backend on TPUs; or, with a topology such as "v5e:2x4", one that compiles for TPUs and needs none.

    Experimental: it has never run on a TPU.

    Such a one runs everything on as many host CPU devices as the topology has, and compiles each step of
    `Strategy.compile` for the topology as well: what is found there is in `compilation.examined`. Raises
    BackendUnavailable without TPUs, or without libtpu; InvalidArgument for a topology that does not exist or
    has not `replicas` devices.
    """
    if topology is None:
        return open_xla(replicas=replicas, platform="tpu", x64=x64)
    found = open_topology(topology)
    if replicas not in (None, len(found.devices)):
        raise InvalidArgument(
            f"The topology {topology!r} has {len(found.devices)} devices, and {replicas} replicas were asked for. "
            f"Leave replicas out, or name another topology."
        )
    backend = open_xla(replicas=len(found.devices), platform="cpu", x64=x64)
    backend.examine_for(found)
    return backend
