"""Where a rule may be broken, and why.

A row that allows nothing is a violation itself, so a row leaves the table together with its cause.
"""

from fnmatch import fnmatchcase
from typing import NamedTuple


class Exempt(NamedTuple):
    """One row. file: a pattern; rule: a part of the violation's text; most: how many violations it allows."""

    file: str
    rule: str
    reason: str
    most: int = 1

    def allows(self, file: str, rule: str) -> bool:
        """Returns whether this row is for a violation."""
        return fnmatchcase(file, self.file) and self.rule in rule


_LATE = "import in a function"
_SHAPE = "no shape in brackets"
_TENSORFLOW = "backends/tensorflow/simstrategy_tensorflow/"
_TF_DISTRIBUTE = "backends/tf_distribute/simstrategy_tf_distribute/"
_KIT = "property_tests/simstrategy_conformance/"
_PYTEST = "property_tests/pytest_plugin/simstrategy_pytest/"
_SCRIPTS = "backends/torch_distributed/tests/scripts/"

EXCEPTIONS = (
    # Imports that wait: an optional package, or one that every start would pay for.
    Exempt("simstrategy/notebook/cells.py", "import linecache", "its tokenizer costs every start; notebooks need it"),
    Exempt("simstrategy/data/readers.py", "google_crc32c", "an optional package: the extra tfrecord"),
    Exempt("simstrategy/data/to_numpy.py", "ml_dtypes", "an optional package: the extra bfloat16"),
    Exempt("simstrategy/sim/dtypes.py", "ml_dtypes", "an optional package: the extra bfloat16"),
    Exempt("simstrategy/check/processes.py", "ml_dtypes", "an optional package: the extra bfloat16"),
    Exempt("backends/torch/simstrategy_torch/arrays.py", "ml_dtypes", "an optional package: the extra bfloat16"),
    Exempt("simstrategy/cli/__init__.py", "simstrategy.cli.app", "the extra cli may be missing: the message names it"),
    Exempt("simstrategy/cli/conform.py", "import pytest", "a package of the kit, no dependency of the core"),
    Exempt("simstrategy/run/functions.py", "import hashlib", "its library costs every start; processes alone need it"),
    Exempt("simstrategy/trace/events.py", "import hashlib", "its library costs every start; few programs need it"),
    Exempt("simstrategy/device/registry.py", "getattr", "a backend's module may import its names on their first use"),
    Exempt("simstrategy/device/registry.py", "entry_points", "costs every start; `sim` is opened without it"),
    Exempt("simstrategy/check/checkers.py", "metadata", "costs every start; few programs need it"),
    Exempt("simstrategy/check/laws/workers.py", "check.processes", "sockets and processes cost every start"),
    Exempt("simstrategy/cli/ending.py", _LATE, "the list of commands imports this; what runs need costs that list"),
    Exempt("simstrategy/cli/leaving.py", _LATE, "as above; what it imports is there after every run"),
    Exempt("backends/xla/simstrategy_xla/compile_check/command.py", _LATE, "as above: JAX is slow to import"),
    Exempt("course/simstrategy_course/commands.py", _LATE, "as above: the grader costs that list", 2),
    Exempt(
        "backends/torch_distributed/simstrategy_torch_distributed/command.py",
        _LATE,
        "the command line lists this command; processes and the judge cost that list",
        5,
    ),
    Exempt("backends/xla/simstrategy_xla/topology.py", "topologies", "JAX looks for libtpu when this is imported"),
    Exempt(_KIT + "plugin.py", _LATE, "pytest loads the plugin in every session; the kit is not run in each", 2),
    Exempt(_PYTEST + "plugin.py", _LATE, "pytest loads the plugin in every session; few have tests that need these", 7),
    # Walks over references.
    Exempt(
        "simstrategy/run/visited.py", "use of id", "a set of visited objects, which it keeps; its order is not read"
    ),
    # Objects of other libraries, which have no type that could be tested.
    Exempt("simstrategy/data/nodes.py", "'node'", "a user's function returned it; Dataset is a layer above"),
    Exempt("simstrategy/strategy/enums.py", "type(value).__name__", "TensorFlow's enum: the core imports no framework"),
    Exempt(_TENSORFLOW + "backend.py", "AttributeError", "TensorFlow's symbolic tensors raise it from numpy()"),
    Exempt(_TENSORFLOW + "frontend.py", "python_function", "TensorFlow's concrete functions share the public type"),
    Exempt(_TENSORFLOW + "sources.py", "_map_func", "private parts of TensorFlow's datasets, not in every version", 3),
    Exempt(_TENSORFLOW + "conversion.py", "ag_source_map", "AutoGraph sets it on the functions that it made"),
    Exempt(_TF_DISTRIBUTE + "layers.py", "'layers'", "Keras has no type for a layer that holds layers", 2),
    Exempt(_TF_DISTRIBUTE + "subjects.py", "'path'", "Keras variables have a path; Keras need not be installed"),
    Exempt(_TF_DISTRIBUTE + "ops.py", "type(value).__name__", "TensorFlow's Mirrored has no public name"),
    Exempt("backends/torch/simstrategy_torch/environment.py", "AttributeError", "JSON of any form"),
    Exempt("backends/xla/simstrategy_xla/backend.py", "AttributeError", "JAX's tracers have no device"),
    # Marks that TensorFlow reads: it has no registry.
    Exempt(_TENSORFLOW + "conversion.py", "patch", "marks that AutoGraph reads on functions and errors of ours", 2),
    Exempt(_TENSORFLOW + "values.py", "__tf_", "names that TensorFlow reads on a value's class", 3),
    Exempt(_TF_DISTRIBUTE + "calls.py", "autograph_info__", "a mark that AutoGraph reads"),
    Exempt(_TF_DISTRIBUTE + "variables.py", "setattr(component", "a component of TensorFlow's reports its writes"),
    Exempt(_TF_DISTRIBUTE + "outside.py", "setattr(variable", "a variable of TensorFlow's reports its writes"),
    Exempt(
        "backends/torch_distributed/simstrategy_torch_distributed/watched/keras_steps.py",
        "setattr(base",
        "Keras has no hooks of an optimizer's steps: decision 0096",
    ),
    Exempt(
        "backends/xla/simstrategy_xla/mesh_check/workers/launches.py",
        "patch",
        "JAX has no public place before the run of a compiled program: decision 0071",
        2,
    ),
    Exempt(
        "simstrategy/launch/predicting.py",
        "patch",
        "Keras has no public way to the layers of a program; put back",
        3,
    ),
    Exempt(_TF_DISTRIBUTE + "reduction.py", "super()", "TensorFlow's CrossDeviceOps is a class to inherit from"),
    # What a user passes may be any object.
    Exempt("simstrategy/device/protocol.py", "AttributeError", "any object may be passed as a backend", 2),
    Exempt(
        "simstrategy/strategy/library/session_config.py", "AttributeError", "any object with these attributes will do"
    ),
    Exempt("simstrategy/strategy/validation.py", "AttributeError", "any object with get_next will do"),
    Exempt(
        "backends/xla/simstrategy_xla/compile_check/command.py", "docstring of", "shown by --help, as all commands'"
    ),
    Exempt("simstrategy/device/namespace.py", "'name'", "a framework's dtype has a name, and no type of ours"),
    Exempt(_TENSORFLOW + "frontend.py", "'get_next'", "an iterator or a dataset of the core, which is a layer above"),
    Exempt("simstrategy/cli/quiet.py", "patch", "what stands there after the program may be closed", 2),
    # What pytest and its plugins set on some objects alone.
    Exempt(_PYTEST + "failures.py", "'obj'", "pytest gives items that are functions one, and others none"),
    Exempt(_PYTEST + "failures.py", "generated_seed", "Hypothesis sets it on its tests; there is no public way"),
    Exempt(_PYTEST + "replicas.py", "'hypothesis'", "Hypothesis sets it on its tests alone"),
    Exempt(_KIT + "plugin.py", "'param'", "pytest sets it on the requests of parametrised fixtures alone"),
    Exempt(_KIT + "session.py", "'workerinput'", "pytest-xdist sets it on its workers, and need not be installed"),
    # A test's name seeds its draws, and committed reports and mutants hold it.
    Exempt(_KIT + "clauses/test_contexts.py", "the word 'knows'", "the name of a test"),
    Exempt(_KIT + "clauses/test_order.py", "the word 'meeting", "the name of a test, and of what it draws", 5),
    Exempt(_KIT + "clauses/test_places.py", "the word", "the names of tests", 3),
    Exempt(_KIT + "clauses/test_programs.py", "the word 'comes to the same'", "the names of tests", 3),
    Exempt(_KIT + "clauses/test_transfers.py", "the word 'tells'", "the name of a test"),
    # Scripts that are judged.
    Exempt(_SCRIPTS + "suspicious/*", "sleep", "ranks that are late for seconds are what a judge has to bear", 9),
    Exempt(_SCRIPTS + "mistakes/threads*", "sleep", "the order of threads that do not wait for each other is wrong", 2),
    # A word that is also a backend's name.
    Exempt(_TENSORFLOW + "collectives.py", "'nccl'", "a kind of communication between GPUs, no backend"),
)
