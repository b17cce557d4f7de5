"""The device layer, for backend authors: the contract, the registry, and what wraps a backend."""

from simstrategy.device.compilation import Collective, Compilation, Facts, Program, ProgramBody
from simstrategy.device.frontend import Composites, Frontend, MakeVariable
from simstrategy.device.namespace import NAMES, ArrayNamespace, canonical_dtype, default_dtype
from simstrategy.device.nudged import Nudged
from simstrategy.device.protocol import (
    PROTOCOL_VERSION,
    UNKNOWN,
    Array,
    ArraySpec,
    Autodiff,
    Backend,
    Capabilities,
    Cell,
    Device,
    GroupFunction,
    Op,
    Spec,
)
from simstrategy.device.registry import EXPERIMENTAL, INSTALL_HINTS, available, install_advice, open_backend
from simstrategy.device.shortcuts import Forms, UnifiedMemory
from simstrategy.device.strict import Strict

__all__ = [
    "EXPERIMENTAL",
    "INSTALL_HINTS",
    "NAMES",
    "PROTOCOL_VERSION",
    "UNKNOWN",
    "Array",
    "ArrayNamespace",
    "ArraySpec",
    "Autodiff",
    "Backend",
    "Capabilities",
    "Cell",
    "Collective",
    "Compilation",
    "Composites",
    "Device",
    "Facts",
    "Forms",
    "Frontend",
    "GroupFunction",
    "MakeVariable",
    "Nudged",
    "Op",
    "Program",
    "ProgramBody",
    "Spec",
    "Strict",
    "UnifiedMemory",
    "available",
    "canonical_dtype",
    "default_dtype",
    "install_advice",
    "open_backend",
]
