"""Tasks on a Ray cluster: a task whose worker or node ends is tried again, and no result is lost or comes twice."""

import os
import platform
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from socket import create_connection
from typing import Any, Final, final

from simstrategy.errors import BackendUnavailable, InvalidArgument, PeerFailed
from simstrategy_conformance.spread.tasks import Lost

__all__ = ["OnRay"]

_RETRIES: Final = 4
_LOOK_S: Final = 30.0
"""After how long without a result the cluster is looked at."""
_WITHOUT_S: Final = 300.0
"""How long a cluster may have no CPU before that is an error."""
_ANSWER_S: Final = 10.0
_PACKAGES: Final = ("simstrategy", "simstrategy-conformance", "numpy", "hypothesis")
_LOOPBACK: Final = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""With "0", Ray's processes of one machine listen on 127.0.0.1 alone, as they do by default on macOS."""
_DEATHS: Final = ("WorkerCrashedError", "NodeDiedError", "LocalRayletDiedError", "OutOfMemoryError", "ObjectLostError")


@final
class OnRay:
    """Runs tasks on a cluster, one on each CPU.

    place: "ray" for the cluster of the variable RAY_ADDRESS, or else one on this machine with `jobs` CPUs, which ends
    with this object; "ray://HOST:PORT" for the cluster of Ray's client server there. folder, without: of `spread_over`.
    """

    def __init__(self, place: str, jobs: int, folder: Path | None, without: Sequence[str]) -> None:
        is_own = place == "ray" and not os.environ.get("RAY_ADDRESS")
        if is_own:
            os.environ.setdefault(_LOOPBACK, "0")
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        self._ray = _ray()
        settings: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
        if folder is not None:
            settings["runtime_env"] = {"working_dir": str(folder), "excludes": list(without)}
        if is_own:
            settings |= {"address": "local", "num_cpus": jobs, "include_dashboard": False}
        elif place != "ray":
            settings["address"] = place
        if not is_own:
            _require_answer(os.environ["RAY_ADDRESS"] if place == "ray" else place)
        try:
            self._ray.init(**settings)
        except (ConnectionError, TimeoutError, RuntimeError, ValueError) as error:
            raise PeerFailed(f"The Ray cluster of {place!r} does not answer: {error}") from error
        self.workers = int(self._ray.cluster_resources().get("CPU", 0))
        if not self.workers:
            self.close()
            raise PeerFailed(f"The Ray cluster of {place!r} has no CPU. Start a node with one.")
        self._run = self._ray.remote(num_cpus=1, max_retries=_RETRIES)(_run)
        self._versions = versions()

    def submit(self, function: Callable[[Any], Any], argument: Any) -> Callable[[], Any]:
        reference = self._run.remote(function, argument, self._versions)
        return lambda: self._result(reference, argument)

    def close(self) -> None:
        self._ray.shutdown()

    def _result(self, reference: Any, argument: Any) -> Any:
        without_since: float | None = None
        while True:
            try:
                problem, found = self._ray.get(reference, timeout=_LOOK_S)
            except self._ray.exceptions.GetTimeoutError:
                without_since = self._without_cpu(without_since)
            except tuple(getattr(self._ray.exceptions, name) for name in _DEATHS) as error:
                first = str(error).partition("\n")[0]
                return Lost(argument, f"its process ended in each of {_RETRIES + 1} tries: {first}")
            else:
                if problem:
                    raise InvalidArgument(problem)
                return found

    def _without_cpu(self, since: float | None) -> float | None:
        """Returns since when the cluster has no CPU, None where it has one.  Raises PeerFailed after a long time."""
        if self._ray.cluster_resources().get("CPU", 0):
            return None
        since = time.monotonic() if since is None else since
        if time.monotonic() - since > _WITHOUT_S:
            raise PeerFailed(f"The Ray cluster has had no CPU for {_WITHOUT_S:g} s. Start a node with one.")
        return since


def _require_answer(address: str) -> None:
    """Raises PeerFailed where nothing listens at an address such as ray://10.0.0.1:10001: Ray waits for minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not host or not port.isdecimal():
        return  # a word of Ray's, such as auto
    try:
        create_connection((host, int(port)), timeout=_ANSWER_S).close()
    except OSError as error:
        raise PeerFailed(
            f"No Ray cluster answers at {address}: {error}. Start it, or give the address of its head."
        ) from error


def versions() -> dict[str, str]:
    """Returns the versions on which a result may depend."""
    return {"Python": platform.python_version()} | {name: version(name) for name in _PACKAGES}


def _run(function: Callable[[Any], Any], argument: Any, wanted: dict[str, str]) -> tuple[str, Any]:
    """Runs a task on a node; returns what is wrong with the node, or "", and the result."""
    here = versions()
    unlike = [f"{name} {here[name]} in place of {wanted[name]}" for name in wanted if here[name] != wanted[name]]
    if unlike:
        return f"The node {platform.node()} has {', '.join(unlike)}: install the same versions on all nodes.", None
    return "", function(argument)


def _ray() -> Any:
    try:
        return import_module("ray")
    except ImportError as error:
        raise BackendUnavailable(
            "Ray is not installed. Install the kit with it: pip install 'simstrategy-conformance[ray]'."
        ) from error
