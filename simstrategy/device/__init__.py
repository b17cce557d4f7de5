"""The device layer, for backend authors: the contract, the registry, and what wraps a backend."""

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
    Compilation,
    Composites,
    Device,
    Frontend,
    GroupFunction,
    MakeVariable,
    Op,
    Program,
    ProgramBody,
    Spec,
)
from simstrategy.device.registry import INSTALL_HINTS, available, open_backend
from simstrategy.device.shortcuts import Forms, UnifiedMemory
from simstrategy.device.strict import Strict
from simstrategy.device.traced import CallRecord, Traced

__all__ = [
    "INSTALL_HINTS",
    "NAMES",
    "PROTOCOL_VERSION",
    "UNKNOWN",
    "Array",
    "ArrayNamespace",
    "ArraySpec",
    "Autodiff",
    "Backend",
    "CallRecord",
    "Capabilities",
    "Cell",
    "Compilation",
    "Composites",
    "Device",
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
    "Traced",
    "UnifiedMemory",
    "available",
    "canonical_dtype",
    "default_dtype",
    "open_backend",
]
