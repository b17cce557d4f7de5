"""Makes `PerReplica` and `Mirrored` nests for tf.nest, and arguments for tf.function: one trace for equal specs.

The values are defined in `simstrategy.values`; TensorFlow looks for special methods on them, which are set here.
"""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
import tensorflow as tf

from simstrategy.short_repr import short_repr
from simstrategy.values import DistributedValues, Mirrored, PerReplica

__all__ = ["register_values"]


def register_values() -> None:
    """Sets the methods by which TensorFlow flattens and traces values; it has no registry for them."""
    for kind in (PerReplica, Mirrored):
        setattr(kind, "__tf_flatten__", _flatten)  # noqa: B010 - attributes of TensorFlow's protocol
        setattr(kind, "__tf_unflatten__", classmethod(_unflatten))  # noqa: B010
        setattr(kind, "__tf_tracing_type__", _tracing_type)  # noqa: B010


def _flatten(self: DistributedValues) -> tuple[tuple[()], tuple[Any, ...]]:
    return (), self.values


def _unflatten(cls: type[DistributedValues], _metadata: tuple[()], components: Sequence[Any]) -> DistributedValues:
    return cls(components)


def _tracing_type(self: DistributedValues, context: Any) -> "_ValuesType":
    return _ValuesType(type(self), tuple([_type_of(value, context) for value in self.values]))


def _type_of(value: Any, context: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return tf.TensorSpec(value.shape, tf.as_dtype(value.dtype))
    if isinstance(value, tf.types.experimental.SupportsTracingProtocol):
        return value.__tf_tracing_type__(context)
    return _ConstantType(value)


@final
class _ValuesType(tf.types.experimental.TraceType):  # type: ignore[misc]  # tf.function requires this base
    """The trace type of a distributed value: its class and the types of its components."""

    def __init__(self, kind: type[DistributedValues], parts: tuple[Any, ...]) -> None:
        self.kind, self.parts = kind, parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ValuesType) and (self.kind, self.parts) == (other.kind, other.parts)

    def __hash__(self) -> int:
        return hash((self.kind, self.parts))

    def __repr__(self) -> str:
        return f"{self.kind.__name__}{list(self.parts)}"

    def is_subtype_of(self, other: Any) -> bool:
        return self._fits(other) and all(
            one.is_subtype_of(another) for one, another in zip(self.parts, other.parts, strict=True)
        )

    def most_specific_common_supertype(self, others: Sequence[Any]) -> "_ValuesType | None":
        if not all(self._fits(other) for other in others):
            return None
        parts = [
            part.most_specific_common_supertype([other.parts[number] for other in others])
            for number, part in enumerate(self.parts)
        ]
        return None if any(part is None for part in parts) else _ValuesType(self.kind, tuple(parts))

    def _fits(self, other: Any) -> bool:
        return isinstance(other, _ValuesType) and other.kind is self.kind and len(other.parts) == len(self.parts)

    def placeholder_value(self, placeholder_context: Any) -> Any:
        return self.kind([part.placeholder_value(placeholder_context) for part in self.parts])

    def to_tensors(self, value: Any) -> list[Any]:
        return [one for part, own in zip(self.parts, value.values, strict=True) for one in part.to_tensors(own)]

    def from_tensors(self, tensors: Any) -> Any:
        return self.kind([part.from_tensors(tensors) for part in self.parts])

    def flatten(self) -> list[Any]:
        return [one for part in self.parts for one in part.flatten()]

    def cast(self, value: Any, cast_context: Any) -> Any:
        if not isinstance(value, self.kind) or len(value.values) != len(self.parts):
            raise TypeError(f"Cannot take {short_repr(value)} for a {self!r}.")
        return self.kind([part.cast(own, cast_context) for part, own in zip(self.parts, value.values, strict=True)])


@final
class _ConstantType(tf.types.experimental.TraceType):  # type: ignore[misc]  # tf.function requires this base
    """The trace type of a component that is no tensor: the value, so that another value is traced again."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _ConstantType) or type(self.value) is not type(other.value):
            return False
        return bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return repr(self.value)

    def is_subtype_of(self, other: Any) -> bool:
        return bool(self == other)

    def most_specific_common_supertype(self, others: Sequence[Any]) -> "_ConstantType | None":
        return self if all(self == other for other in others) else None

    def placeholder_value(self, placeholder_context: Any) -> Any:
        return self.value

    def to_tensors(self, value: Any) -> list[Any]:
        return []

    def from_tensors(self, tensors: Any) -> Any:
        return self.value

    def flatten(self) -> list[Any]:
        return []

    def cast(self, value: Any, cast_context: Any) -> Any:
        return self.value
