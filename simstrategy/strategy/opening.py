"""How a strategy comes to its backend: the settings that all constructors take, and what each kind requires.

It runs nothing: the engine that comes out does.
"""

from collections.abc import Sequence
from typing import Any, Literal, TypedDict

from simstrategy.device import Backend, open_backend
from simstrategy.errors import InvalidArgument
from simstrategy.schedules import Schedule
from simstrategy.strategy.engine import Engine
from simstrategy.strategy.kinds import MULTI_WORKER, ONE_DEVICE, Kind
from simstrategy.strategy.semantics import Semantics
from simstrategy.trace import Trace

__all__ = ["Settings", "open_engine"]


class Settings(TypedDict, total=False):
    """What every constructor of `Strategy` takes by name, besides its backend."""

    replicas: int | None
    """Of this process; default all of an opened backend's, as many as `devices`, or 1."""
    devices: Sequence[str] | None
    """The backend's names of the devices, one for each replica, each once."""
    semantics: Semantics | None
    """Default `Semantics.TF1_15`."""
    schedule: Schedule | None
    """Default `InOrder()`."""
    checks: bool | Literal["strict"]
    """False for none, True for the device contract and call sites, "strict" to make differing call sites an error."""
    trace: Trace | None
    lanes: Literal["auto", "greenlet", "thread"]
    """Who carries the replicas: "auto" asks the backend's capabilities."""
    seed: int
    """What `ReplicaContext.seed` starts from; default 0."""


def open_engine(kind: Kind, backend: str | Backend, settings: Settings) -> Engine:
    """Returns the engine of a kind on a backend, which is opened here if it is a name.

    Raises InvalidArgument where the backend, or its number of devices, does not fit the kind, and what
    opening the backend raises.
    """
    if not isinstance(backend, str) and not hasattr(backend, "protocol_version"):
        raise InvalidArgument(
            f"A strategy takes a backend's name or an opened backend, got {backend!r}. "
            f'Write for example Strategy.{kind.name}("sim", replicas=2).'
        )
    of_engine: dict[str, Any] = {**settings}
    replicas, devices = of_engine.pop("replicas", None), of_engine.pop("devices", None)
    opened = _opened(kind, backend, replicas, devices)
    processes = len({device.process for device in opened.devices})
    if processes > 1 and not kind.spans_processes:
        raise InvalidArgument(
            f"Backend {opened.name!r} spans {processes} processes, and a {kind.name} strategy has all its replicas in "
            f"one. Use Strategy.multi_worker in each of them."
        )
    if kind is ONE_DEVICE and len(opened.devices) != 1:
        raise InvalidArgument(
            f"A one_device strategy has one replica, and backend {opened.name!r} has {len(opened.devices)} devices. "
            f"Open it with one, or use Strategy.mirrored."
        )
    return Engine(opened, kind=kind, **of_engine)


def _opened(kind: Kind, backend: str | Backend, replicas: int | None, devices: Sequence[str] | None) -> Backend:
    if devices is not None:
        devices = _distinct(devices)
    if isinstance(backend, str):
        options: dict[str, Any] = {} if devices is None else {"devices": devices}
        try:
            return open_backend(backend, replicas=replicas, **options)
        except TypeError as error:
            if devices is None or "devices" not in str(error):
                raise
            raise InvalidArgument(f"Backend {backend!r} chooses its devices itself. Give replicas alone.") from error
    if devices is not None:
        raise InvalidArgument(
            f"Backend {backend.name!r} is opened already, and devices={list(devices)} are asked for. "
            f"Open it with them: ss.backend(name, devices=...)."
        )
    count = len(backend.local_devices if kind is MULTI_WORKER else backend.devices)
    if replicas not in (None, count):
        raise InvalidArgument(
            f"Backend {backend.name!r} was opened with {count} replicas, and {replicas} are asked for. Open it with "
            f"ss.backend({backend.name!r}, replicas={replicas})."
        )
    return backend


def _distinct(devices: Sequence[str]) -> list[str]:
    if isinstance(devices, str) or not all(isinstance(device, str) for device in devices) or not devices:
        raise InvalidArgument(f"devices is a list of the backend's names for them, got {devices!r}.")
    twice = [device for number, device in enumerate(devices) if device in list(devices)[:number]]
    if twice:
        raise InvalidArgument(
            f"No duplicates allowed in `devices`: {twice[0]!r} comes twice in {list(devices)}. For several replicas on "
            f"one device, open the backend for that yourself: ss.backend(name, devices=...)."
        )
    return list(devices)
