"""Makes the module that StableHLO's interpreter runs of a step that JAX has lowered for ranks side by side.

JAX's module has one function of whole arrays, in which `sdy.manual_computation` is what each rank does. That becomes a
function, and `interpreter.run_parallel` runs it once for each rank. Nothing is evaluated here.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func
from jaxlib.mlir.dialects import stablehlo as dialect
from jaxlib.mlir.passmanager import PassManager

from simstrategy.errors import Unsupported

__all__ = ["Tensor", "Text", "interpreted"]

_PASSES: Final = "builtin.module(inline,symbol-dce,func.func(chlo-legalize-to-stablehlo))"
_MANUAL: Final = "sdy.manual_computation"
_CHANNEL: Final = "channel_handle"
_LOOP: Final = "stablehlo.while"
_CARRIED: Final = {"i1": ("ui8", "stablehlo.convert"), "bf16": ("ui16", "stablehlo.bitcast_convert")}
"""Types that no array of NumPy has, each with the one in which it is given and returned, and what converts."""


class Tensor(NamedTuple):
    """The type of one rank's array.  shape: its sizes. element: its type as in MLIR, such as "f32"."""

    shape: tuple[int, ...]
    element: str

    def __str__(self) -> str:
        return f"tensor<{'x'.join([*map(str, self.shape), self.element])}>"

    @property
    def carried(self) -> "Tensor":
        """What is given to the module, and returned by it."""
        return self._replace(element=_CARRIED.get(self.element, (self.element, ""))[0])


class Text(NamedTuple):
    """A module as text.  inputs, outputs: of each rank. taken: which arguments of the step the inputs are."""

    text: str
    taken: tuple[int, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]


def interpreted(module: ir.Module, ranks: int) -> Text:
    """Returns the interpreter's module of a module of JAX's, which is changed.

    Raises Unsupported for a collective in a loop: the interpreter gives one that comes again the first one's result.
    """
    with module.context, ir.Location.unknown():
        dialect.register_stablehlo_passes()
        PassManager.parse(_PASSES).run(module.operation)
        main = ir.SymbolTable(module.operation)["main"].operation
        block = main.regions[0].blocks[0]
        manual = next((one.operation for one in block.operations if one.operation.name == _MANUAL), None)
        # For one rank JAX leaves it out: what that rank does is the whole function. For several it is left out where it
        # has no results, and then nothing of the whole arrays is needed.
        if manual is None and ranks > 1:
            for _ in range(len(block.arguments)):
                block.erase_argument(0)
        given = block.arguments if manual is None else manual.operands
        taken = tuple([ir.BlockArgument(one).arg_number for one in given])
        inputs, outputs = _function(module, main if manual is None else manual)
        main.erase()
        functions = ir.SymbolTable(module.operation)
        for number, operation in enumerate(_once(_collectives(functions["ranked"], functions, in_loop=False)), 1):
            # One channel for each: the interpreter keeps what came through a channel.
            handle = f"#stablehlo.channel_handle<handle = {number}, type = 1>"
            operation.attributes[_CHANNEL] = ir.Attribute.parse(handle)
        head, _, rest = str(module).partition("\n")
        return Text(f"{head}\n{_main(inputs, outputs, ranks)}\n{rest}", taken, inputs, outputs)


def _function(module: ir.Module, operation: Any) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Adds the function of a rank, `ranked`, of an operation's region; returns the types of arguments and results."""
    block = operation.regions[0].blocks[0]
    *operations, end = block.operations
    inputs = [one.type for one in block.arguments]
    outputs = [one.type for one in end.operands]
    with ir.InsertionPoint(module.body):
        entry: Any = func.FuncOp("ranked", ir.FunctionType.get(inputs, outputs))
        entry = entry.add_entry_block()  # its type lacks it
    for old, new in zip(block.arguments, entry.arguments, strict=True):
        old.replace_all_uses_with(new)
    with ir.InsertionPoint(entry):
        leave = func.ReturnOp(list(end.operands))
    for one in operations:
        one.move_before(leave)
    return tuple(map(_tensor, inputs)), tuple(map(_tensor, outputs))


def _tensor(given: Any) -> Tensor:
    ranked = ir.RankedTensorType(given)
    return Tensor(tuple(ranked.shape), str(ranked.element_type))


def _collectives(function: Any, functions: ir.SymbolTable, *, in_loop: bool) -> Iterator[tuple[Any, bool]]:
    """Yields what a function does that has a channel, as often as it comes, and whether it is in a loop."""
    for region in function.operation.regions:
        for block in region.blocks:
            for one in block.operations:
                operation: Any = one.operation
                if _CHANNEL in operation.attributes:
                    yield operation, in_loop
                if operation.name == "func.call":
                    callee = functions[ir.FlatSymbolRefAttr(operation.attributes["callee"]).value]
                    yield from _collectives(callee, functions, in_loop=in_loop)
                yield from _collectives(operation, functions, in_loop=in_loop or operation.name == _LOOP)


def _once(found: Iterator[tuple[Any, bool]]) -> list[Any]:
    """Returns operations that come once.  Raises Unsupported for others."""
    operations: list[Any] = []
    for operation, in_loop in found:
        if in_loop or operation in operations:
            raise Unsupported(
                f"StableHLO's interpreter cannot run this compiled step: its {operation.name.partition('.')[2]} comes "
                f"again, in a loop or a function. It would get its first result again. Write the turns one after the "
                f"other, or open the backend without interpreted=True."
            )
        operations.append(operation)
    return operations


def _main(inputs: Sequence[Tensor], outputs: Sequence[Tensor], ranks: int) -> str:
    """Returns the function of all ranks' arrays: rank 0's come first."""
    given, found = [*inputs] * ranks, [*outputs] * ranks
    ends = [f"%r#{number}" if len(found) > 1 else "%r" for number in range(len(found))]
    programs = ", ".join(["@ranked"] * ranks)
    into = [_converted(f"%a{number}", f"%b{number}", one.carried, one) for number, one in enumerate(given)]
    out = [
        _converted(end, f"%c{number}", one, one.carried)
        for number, (end, one) in enumerate(zip(ends, found, strict=True))
    ]
    heads = ", ".join(f"%a{number}: {one.carried}" for number, one in enumerate(given))
    results = f"%r:{len(found)} = " if len(found) > 1 else "%r = " if found else ""
    arguments = ", ".join(name for name, _ in into)
    types = f"({_types(given)}) -> ({_types(found)})"
    carried = _types(one.carried for one in found)
    lines = [
        f"func.func public @main({heads}) -> ({carried}) {{",
        *[line for _, line in into],
        f'{results}"interpreter.run_parallel"({arguments}) {{programs = [[{programs}]]}} : {types}',
        *[line for _, line in out],
        f"return {', '.join(name for name, _ in out)} : {carried}" if found else "return",
        "}",
    ]
    return "\n".join(lines)


def _converted(name: str, other: str, one: Tensor, to: Tensor) -> tuple[str, str]:
    """Returns the name of a value in another type, and the line that converts it."""
    if one == to:
        return name, ""
    operation = _CARRIED.get(one.element, _CARRIED.get(to.element, ("", "")))[1]
    return other, f"{other} = {operation} {name} : ({one}) -> {to}"


def _types(tensors: Any) -> str:
    return ", ".join(map(str, tensors))
