"""Finding backends: by name, by module and factory, imported only when asked for."""

import importlib
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import simstrategy as ss
from simstrategy.device import EXPERIMENTAL, INSTALL_HINTS, PROTOCOL_VERSION, available, open_backend, registry
from simstrategy.errors import BackendNotFound, BackendUnavailable, InvalidArgument, InvalidType, SimStrategyError

ROOT = Path(__file__).resolve().parents[2]

MODULE = """
from collections.abc import Sequence
from typing import Literal

from simstrategy.sim import open_sim
opened = []

def open_acme(*, replicas=None, colour="red"):
    opened.append((replicas, colour))
    return open_sim(replicas=replicas)

class Old:
    protocol_version = {version}

def open_old():
    return Old()

def open_typed(
    *,
    replicas: int | None = None,
    devices: Sequence[str] | None = None,
    platform: str | None = None,
    wide: bool = False,
    way: Literal["copy", "ring"] = "copy",
    options: dict = {{}},
):
    return open_sim(replicas=replicas)

def open_needy(place, *, replicas=None):
    return open_sim()

number = 3

class Early(Old):
    # Written before `memory` was an attribute.
    protocol_version = {current}

    def __getattr__(self, name):
        if name == "memory":
            raise AttributeError(name, name=name, obj=self)
        return getattr(open_sim(replicas=2), name)

class Broken:
    name, protocol_version = "broken", {current}

    @property
    def capabilities(self):
        return None.dtypes

def open_early():
    return Early()
"""


@pytest.fixture
def acme(tmp_path, monkeypatch):
    """Installs a module with backends, and gives its folder, where a distribution may be put beside it."""
    (tmp_path / "acme_backends.py").write_text(MODULE.format(version=PROTOCOL_VERSION + 1, current=PROTOCOL_VERSION))
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("acme_backends", None)


def install(folder, **points):
    """Makes a distribution with entry points, as an installer would."""
    info = folder / "acme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    lines = ["[simstrategy.backends]", *(f"{name} = {value}" for name, value in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")


def test_the_simulator_is_found_by_its_name_like_any_other():
    assert "sim" in available()
    assert list(available()) == sorted(available())
    assert ss.backends() == available()
    assert open_backend("sim", replicas=3).name == "sim"
    assert len(open_backend("sim", replicas=3).devices) == 3


def test_an_installed_backend_is_found_and_gets_its_options(acme):
    install(acme, acme="acme_backends:open_acme")
    assert "acme" in available()
    assert "acme_backends" not in sys.modules
    open_backend("acme", replicas=2, colour="blue")
    assert sys.modules["acme_backends"].opened == [(2, "blue")]


def test_a_module_and_factory_need_no_installation(acme):
    assert open_backend("acme_backends:open_acme", replicas=2).name == "sim"
    assert ss.Strategy.mirrored("acme_backends:open_acme", replicas=2).num_replicas_in_sync == 2


def test_an_unknown_name_is_told_with_what_is_installed_and_where_it_comes_from(monkeypatch):
    monkeypatch.setitem(INSTALL_HINTS, "acme", "pip install simstrategy-acme")
    with pytest.raises(BackendNotFound) as raised:
        open_backend("acme")
    assert str(raised.value).startswith("No backend named 'acme'. Installed: ")
    assert "sim" in str(raised.value).split("Installed: ")[1].split(". ")[0].split(", ")
    assert str(raised.value).endswith("In a checkout of simstrategy, install it with: pip install simstrategy-acme")


def test_an_unknown_name_without_a_hint_tells_of_spelling():
    with pytest.raises(
        BackendNotFound, match=r"No backend named 'simm'.*Check the spelling, or write 'module:factory'"
    ):
        open_backend("simm")


def test_an_installed_backend_whose_framework_is_missing_says_what_brings_it(acme, monkeypatch):
    install(acme, acme="acme_missing_framework:open_it")
    with pytest.raises(BackendUnavailable, match=r"'acme' cannot be imported.*Install what provides acme_missing"):
        open_backend("acme")
    monkeypatch.setitem(INSTALL_HINTS, "acme", "pip install simstrategy-acme")
    with pytest.raises(
        BackendUnavailable, match="In a checkout of simstrategy, install it with: pip install simstrategy-acme"
    ):
        open_backend("acme")


@pytest.mark.parametrize("command", sorted({*INSTALL_HINTS.values()}))
def test_every_hint_installs_a_distribution_of_this_repository_that_has_its_backends(command):
    (folder,) = re.fullmatch(r"pip install '?(\.[a-z/]*)(?:\[\w+\])?'?", command).groups()
    project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    of_command = {name for name, one in INSTALL_HINTS.items() if one == command}
    assert of_command <= {*project["entry-points"]["simstrategy.backends"]}
    extra = re.search(r"\[(\w+)\]", command)
    assert extra is None or extra[1] in project["optional-dependencies"]


def test_errors_of_an_experimental_backend_say_that_it_is_one(acme, monkeypatch):
    monkeypatch.setitem(EXPERIMENTAL, "acme", "no test has run it")
    text = "(Backend 'acme' is experimental: no test has run it.)"
    with pytest.raises(BackendNotFound) as unknown:
        open_backend("acme")
    assert str(unknown.value).endswith(text)
    install(acme, acme="acme_backends:open_acme", other="acme_backends:open_acme")
    with pytest.raises(InvalidArgument) as refused:
        open_backend("acme", replicas=0)
    assert refused.value.__notes__ == [text]
    with pytest.raises(InvalidArgument) as plain:
        open_backend("other", replicas=0)
    assert not hasattr(plain.value, "__notes__")
    assert {"nccl", "tpu"} == {*EXPERIMENTAL} - {"acme"}


def test_a_missing_factory_is_told_by_module_and_name(acme):
    with pytest.raises(BackendUnavailable, match=r"module acme_backends has no 'open_acmee'. Check its spelling"):
        open_backend("acme_backends:open_acmee")


def test_another_protocol_version_is_refused_with_both_numbers(acme):
    with pytest.raises(BackendUnavailable, match=f"version {PROTOCOL_VERSION + 1} of .* version {PROTOCOL_VERSION}"):
        open_backend("acme_backends:open_old")


def test_a_backend_without_an_attribute_of_the_contract_is_refused_with_its_name(acme):
    missing = "^Early has no attribute 'memory', which every backend has; an optional part that it lacks is None"
    with pytest.raises(BackendUnavailable, match=missing):
        open_backend("acme_backends:open_early")
    module = importlib.import_module("acme_backends")
    for checks in (True, False):
        with pytest.raises(BackendUnavailable, match=missing):
            ss.Strategy.mirrored(module.Early(), checks=checks)
    with pytest.raises(AttributeError, match="'NoneType' object has no attribute 'dtypes'"):
        ss.Strategy.mirrored(module.Broken())


@pytest.mark.parametrize("name", [":open_it", "module:", ":"])
def test_half_a_location_is_refused(name):
    with pytest.raises(InvalidArgument, match="is no backend: write a backend's name, or 'module:factory'"):
        open_backend(name)


def test_what_the_factory_raises_comes_out_unchanged():
    with pytest.raises(InvalidArgument, match="at least 1, got 0"):
        open_backend("sim", replicas=0)


@pytest.mark.slow
def test_importing_simstrategy_and_listing_backends_imports_no_framework_and_no_command_line():
    code = (
        "import json, sys, simstrategy\n"
        "simstrategy.backends()\n"
        "simstrategy.Strategy.mirrored('sim', replicas=2).run(lambda: 1)\n"
        "print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True, timeout=300
    ).stdout
    loaded = set(json.loads(printed))
    assert {"simstrategy", "numpy", "greenlet"} <= loaded
    forbidden = {"tensorflow", "torch", "jax", "jaxlib", "sklearn", "typer", "rich", "ml_dtypes", "click", "hypothesis"}
    assert not loaded & forbidden
    assert not {name for name in loaded if name.startswith("simstrategy_")}


def test_what_is_known_of_our_own_backend_is_what_its_entry_point_says():
    assert {"sim": available()["sim"].value} == registry._OWN


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"devices": 3}, "devices is a list of texts (at least one) or None, got 3"),
        ({"devices": "cpu"}, "devices is a list of texts (at least one)"),
        ({"devices": []}, "devices is a list of texts (at least one)"),
        ({"devices": ["cpu", 3]}, "devices is a list of texts (at least one)"),
        ({"platform": b"cpu"}, "platform is a text or None, got b'cpu'"),
        ({"wide": 1.0}, "wide is True or False, got 1.0"),
        ({"way": ["ring"]}, "way is a text, got"),
    ],
)
def test_an_option_of_another_kind_than_its_annotation_is_refused(acme, options, message):
    with pytest.raises(InvalidArgument, match=f"Backend 'acme_backends:open_typed': {re.escape(message)}"):
        open_backend("acme_backends:open_typed", **options)


def test_options_of_their_kinds_and_of_kinds_that_are_not_compared_are_given_to_the_factory(acme):
    options = {"devices": ("cpu",), "platform": None, "wide": True, "way": "ring", "options": 3}
    assert len(open_backend("acme_backends:open_typed", replicas=2, **options).devices) == 2


def test_an_option_that_a_factory_does_not_take_is_named_with_those_that_it_takes(acme):
    with pytest.raises(InvalidType, match="has no option 'size'; choose from replicas, colour"):
        open_backend("acme_backends:open_acme", size=3)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("json:loads", "'json:loads' is no backend: it cannot be called as open"),
        ("os:getcwd", "'os:getcwd' opened a str, which is no backend"),
        ("math:pi", "pi is a float, and no function that opens it"),
        ("..:x", "'..:x' is no backend: write a backend's name"),
        (3, "A backend has a name, got 3"),
        ("acme_backends:open_needy", "'acme_backends:open_needy' is no backend: it cannot be called as open"),
        ("acme_backends:number", "number is a int, and no function that opens it"),
    ],
)
@pytest.mark.usefixtures("acme")
def test_what_is_no_factory_is_an_error_of_ours(name, message):
    with pytest.raises(SimStrategyError, match=re.escape(message)):
        open_backend(name)
