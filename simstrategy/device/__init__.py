"""The device layer, for backend authors: the contract, the registry, and what wraps a backend."""

from simstrategy.device.casts import cast
from simstrategy.device.compilation import Collective, Facts
from simstrategy.device.completed import completed
from simstrategy.device.frontend import Composites, Frontend, MakeVariable
from simstrategy.device.functions.shapes import require_shifts
from simstrategy.device.generators import GLOBAL_GENERATORS, GlobalGenerator
from simstrategy.device.host_data import filling, host_array, is_python_data, numeric_array, python_array, refuse_masked
from simstrategy.device.namespace import NAMES, ArrayNamespace, canonical_dtype, default_dtype
from simstrategy.device.optional import Autodiff, Forms, GroupFunction, UnifiedMemory
from simstrategy.device.perturbed import UlpPerturbed
from simstrategy.device.protocol import PROTOCOL_VERSION, Backend, Compilation, Program, ProgramBody, is_backend
from simstrategy.device.registry import EXPERIMENTAL, INSTALL_HINTS, available, install_advice, open_backend
from simstrategy.device.strict import Strict
from simstrategy.device.terms import UNKNOWN, Array, ArraySpec, Capabilities, Cell, Device, Op, Spec

__all__ = [
    "EXPERIMENTAL",
    "GLOBAL_GENERATORS",
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
    "GlobalGenerator",
    "GroupFunction",
    "MakeVariable",
    "Op",
    "Program",
    "ProgramBody",
    "Spec",
    "Strict",
    "UlpPerturbed",
    "UnifiedMemory",
    "available",
    "canonical_dtype",
    "cast",
    "completed",
    "default_dtype",
    "filling",
    "host_array",
    "install_advice",
    "is_backend",
    "is_python_data",
    "numeric_array",
    "open_backend",
    "python_array",
    "refuse_masked",
    "require_shifts",
]
