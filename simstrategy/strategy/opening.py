"""Opens the backend of a strategy and makes its group: settings, and what each kind requires."""

from collections.abc import Sequence
from copy import deepcopy
from functools import lru_cache
from types import NoneType
from typing import Any, Literal, NoReturn, TypedDict

from simstrategy import trace as traces
from simstrategy.device import Backend, MakeVariable, is_backend, open_backend
from simstrategy.device.registry import require_complete, require_device_names
from simstrategy.device.terms import process_count
from simstrategy.errors import InvalidArgument, InvalidType
from simstrategy.run import WAIT_LIMIT_S
from simstrategy.schedules import InOrder, Schedule, require_schedule
from simstrategy.short_repr import short_repr
from simstrategy.strategy.frontend import FrontendBinding
from simstrategy.strategy.group import Group, GroupSettings, Watches
from simstrategy.strategy.kinds import DEFAULT, MULTI_WORKER, ONE_DEVICE, Kind
from simstrategy.strategy.semantics import Semantics
from simstrategy.strategy.validation import require_settings

__all__ = ["Settings", "copied_group", "default_group", "make_group", "open_group"]


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
    checks: bool | Literal["paths", "strict"]
    """False for none, True for the device contract and call sites, "paths" to compare also the lines that led to each
    call, "strict" to make an error of what these warn of."""
    trace: "traces.AnyTrace | None"
    executor: Literal["auto", "greenlet", "thread"]
    """What runs the replicas; "auto" for the backend's choice."""
    seed: int
    """Of `ReplicaContext.seed`; default 0."""
    wait_limit_s: float | None
    """Seconds after which a replica that waits outside of collectives is reported; default 60, None for never."""
    isolate: bool
    """True to give each replica global random generators of its own (Python's, NumPy's, the framework's), as it has in
    a process of its own; default False: all draw from those of the process, one after the other."""


def open_group(kind: Kind, backend: str | Backend, settings: Settings, make_variable: MakeVariable) -> Group:
    """Returns the group of a kind on a backend, which is opened here if it is a name.

    make_variable: makes the strategy's variables for the backend's framework. Raises InvalidArgument where the backend,
    or its number of devices, does not fit the kind, and what opening the backend raises.
    """
    if not isinstance(backend, str) and not is_backend(backend):
        raise InvalidArgument(
            f"A strategy takes a backend's name or an opened backend, got {short_repr(backend)}. "
            f'Write for example Strategy.{kind.name}("sim", replicas=2).'
        )
    unknown = [name for name in settings if name not in Settings.__annotations__]
    if unknown:
        raise InvalidType(
            f"A strategy has no setting {unknown[0]!r}; choose from {', '.join(Settings.__annotations__)}. Options of "
            f"a backend are given where it is opened: ss.backend(name, {unknown[0]}=…)."
        )
    others: dict[str, Any] = {**settings}
    replicas, devices = others.pop("replicas", None), others.pop("devices", None)
    opened = _opened(kind, backend, replicas, devices)
    processes = process_count(opened.devices)
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
    return make_group(_group_settings(opened, kind, **others), make_variable)


def make_group(settings: GroupSettings, make_variable: MakeVariable) -> Group:
    """Returns a group of these settings, attached to its backend's framework."""
    return Group(settings, frontend=FrontendBinding.of(settings.backend.frontend, make_variable))


def copied_group(group: Group, make_variable: MakeVariable) -> Group:
    """Returns another group of a group's settings, on its backend, without variables."""
    return make_group(group.settings._replace(schedule=deepcopy(group.settings.schedule)), make_variable)


@lru_cache(maxsize=1)
def default_group() -> Group:
    """Returns the group that is current where no strategy was entered: one replica on the simulator."""
    return open_group(DEFAULT, "sim", {}, _no_framework)


def _no_framework(*_: Any, **__: Any) -> NoReturn:
    raise AssertionError("The simulator has no framework that makes variables.")


def _group_settings(
    opened: Backend,
    kind: Kind,
    *,
    semantics: Semantics | None = None,
    schedule: Schedule | None = None,
    checks: bool | Literal["paths", "strict"] = True,
    trace: "traces.AnyTrace | None" = None,
    executor: Literal["auto", "greenlet", "thread"] = "auto",
    seed: int = 0,
    wait_limit_s: float | None = WAIT_LIMIT_S,
    isolate: bool = False,
) -> GroupSettings:
    require_settings(checks, executor, seed, wait_limit_s, isolate)
    if not isinstance(semantics, (Semantics, NoneType)):
        raise InvalidType(
            f"semantics is a profile, got {short_repr(semantics)}. Pass one, such as ss.Semantics.TF2, or leave it out."
        )
    if schedule is not None:
        require_schedule(schedule)
    if trace is not None and not isinstance(trace, (traces.Trace, traces.Recorder)):
        raise InvalidType(f"trace collects events, got {short_repr(trace)}. Pass a ss.trace.Trace(), or leave it out.")
    chosen: Schedule = InOrder() if schedule is None else schedule
    if trace is not None and isinstance(trace, traces.Recorder):
        trace.describe(
            backend=opened.name,
            kind=kind.name,
            replicas=len(opened.devices),
            workers=process_count(opened.devices),
            seed=seed,
            schedule="InOrder()" if type(chosen) is InOrder else "by its draws",
            profile=(Semantics.TF1_15 if semantics is None else semantics).name,
        )
        chosen = chosen if type(chosen) is InOrder else trace.watched(chosen)
    return GroupSettings(
        backend=opened,
        kind=kind,
        semantics=Semantics.TF1_15 if semantics is None else semantics,
        schedule=chosen,
        checks=checks,
        executor=executor,
        trace=trace,
        seed=seed,
        wait_limit_s=wait_limit_s,
        isolate=isolate,
        watches=Watches(),
    )


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
            raise InvalidArgument(
                f"Backend {short_repr(backend)} chooses its devices itself. Give replicas alone."
            ) from error
    require_complete(backend)
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
    require_device_names(devices)
    twice = [device for number, device in enumerate(devices) if device in list(devices)[:number]]
    if twice:
        raise InvalidArgument(
            f"No duplicates allowed in `devices`: {twice[0]!r} comes twice in {list(devices)}. Open the backend "
            f"yourself for several replicas on one device: ss.backend(name, devices=...)."
        )
    return list(devices)
