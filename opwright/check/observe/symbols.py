"""Arguments whose sizes are symbols, and what a call did to the symbols."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import sympy  # type: ignore[import-untyped]  # it has no types
import torch
from torch.fx.experimental.symbolic_shapes import (
    DimDynamic,
    ShapeEnv,
    StatelessSymbolicContext,
)

from opwright.internals.fake_tensors import FakeTensorMode, check
from opwright.kit.declare.schema import Base
from opwright.kit.live.arguments import map_tensors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from opwright.kit.declare.schema import Schema
    from opwright.kit.live.arguments import Values

__all__ = ["Frozen", "Size", "Symbolic", "sizes_of"]

SPECIAL = (0, 1)  # sizes that torch never makes a symbol of: for these a graph is made anew


@dataclass(frozen=True, slots=True)
class Frozen:
    """A symbol that became a number.

    Parameters
    ----------
    stack
        Where.
    """

    symbol: sympy.Symbol
    value: int
    stack: traceback.StackSummary


class WatchedShapes(ShapeEnv):
    """A ShapeEnv that notes where a symbol became a number."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers: list[Frozen] = []

    def _set_replacement(self, a: sympy.Symbol, tgt: sympy.Expr, msg: str) -> None:
        """Note the replacement of a symbol; torch makes all of them here.

        One value that is left in a range is none that anybody asked for: a size of 2 that is not
        larger than 2, as no size is 0 or 1.
        """
        is_asked = msg != "range_refined_to_singleton"
        if is_asked and tgt.is_Integer and not any(each.symbol == a for each in self.numbers):
            self.numbers.append(Frozen(a, int(tgt), traceback.extract_stack()))
        super()._set_replacement(a, tgt, msg)


# The place that a symbol stands for: the argument, the element of a list in it, the axis.
Size = tuple[str, int | None, int | None]


@dataclass(slots=True)
class Symbolic:
    """The arguments of a call without data, with a symbol for each size that is not 0 or 1.

    Parameters
    ----------
    are_backed
        Whether a symbol has a value that Meta could ask for. Otherwise equal sizes are one symbol.
    """

    schema: Schema
    are_backed: bool
    shapes: WatchedShapes = field(default_factory=WatchedShapes)
    mode: FakeTensorMode = field(init=False)
    origins: dict[sympy.Symbol, Size] = field(default_factory=dict)
    unbacked: dict[int, torch.SymInt] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.mode = FakeTensorMode(shape_env=self.shapes)

    def arguments(self, values: Values) -> Values:
        """Return the arguments of a call, fake and with symbols."""
        return {
            argument.name: self.value(argument.name, argument.type.base, values[argument.name])
            for argument in self.schema.arguments
        }

    def value(self, name: str, base: Base, value: Any) -> Any:  # noqa: ANN401 - any argument
        """Return one argument."""
        if base is Base.TENSOR:
            if isinstance(value, list | tuple):
                return [
                    self.tensor(each, (name, index)) if isinstance(each, torch.Tensor) else each
                    for index, each in enumerate(value)
                ]
            return map_tensors(lambda each: self.tensor(each, (name, None)), value)
        if base is Base.SYMINT:
            if isinstance(value, list | tuple):
                return [self.integer(each, (name, i, None)) for i, each in enumerate(value)]
            return self.integer(value, (name, None, None))
        return value

    def tensor(self, tensor: torch.Tensor, place: tuple[str, int | None]) -> torch.Tensor:
        """Return a fake tensor with symbols for sizes."""
        if not self.are_backed:
            sizes = [self.size(size) for size in tensor.shape]
            with self.mode:
                return torch.empty(sizes, dtype=tensor.dtype, device=tensor.device)
        from opwright.internals.dynamo import ConstantSource  # noqa: PLC0415 - a second that rows without a compiler need not wait for

        kinds = [
            DimDynamic.STATIC if size in SPECIAL else DimDynamic.DYNAMIC for size in tensor.shape
        ]
        fake = self.mode.from_tensor(
            tensor,
            symbolic_context=StatelessSymbolicContext(dynamic_sizes=kinds),
            source=ConstantSource(source_text("_".join(map(str, place)))),
        )
        for axis, size in enumerate(fake.shape):
            self.note(size, (*place, axis))
        return fake

    def size(self, size: int) -> int | torch.SymInt:
        """Return a symbol without a value; the same one for the same size."""
        if size in SPECIAL:
            return size
        if size not in self.unbacked:
            symbol = self.shapes.create_unbacked_symint()
            check(symbol >= 0)
            self.unbacked[size] = symbol
        return self.unbacked[size]

    def integer(self, value: Any, place: Size) -> Any:  # noqa: ANN401 - any argument
        """Return a symbol for an int argument that may be one."""
        if not isinstance(value, int) or value in SPECIAL or value < 0:
            return value
        if not self.are_backed:
            return self.size(value)
        from opwright.internals.dynamo import ConstantSource  # noqa: PLC0415 - as above

        source = ConstantSource(source_text("_".join(map(str, place))))
        symbol = self.shapes.create_symbol(value, source, dynamic_dim=DimDynamic.DYNAMIC)
        made = self.shapes.create_symintnode(symbol, hint=value, source=source)
        self.note(made, place)
        return made

    def note(self, size: Any, place: Size) -> None:  # noqa: ANN401 - an int or a SymInt
        """Note what the symbol of a size stands for."""
        if isinstance(size, torch.SymInt):
            self.origins[size.node.expr] = place

    def frozen(self) -> Iterator[Frozen]:
        """Yield the symbols of arguments that became numbers."""
        for each in self.shapes.numbers:
            if each.symbol in self.origins:
                yield each

    def values_at(self, values: Values) -> dict[sympy.Symbol, int]:
        """Return what the symbols are for the arguments of another call."""
        found = dict(sizes_of(self.schema, values))
        return {symbol: found[place] for symbol, place in self.origins.items()}

    def holds(self, at: Mapping[sympy.Symbol, int]) -> bool:
        """Return whether all guards hold for other values: what Meta said is true for them, too."""
        return all(guard.expr.subs(at) != sympy.false for guard in self.shapes.guards)

    def evaluated(self, size: Any, at: Mapping[sympy.Symbol, int]) -> int | None:  # noqa: ANN401 - an int or a SymInt
        """Return a size for other values of the symbols; None if it depends on data."""
        if isinstance(size, int):
            return size
        expression = self.shapes.replace(size.node.expr).subs(at)
        return int(expression) if expression.is_Integer else None


def source_text(name: str) -> str:
    """Return the name that torch gives symbols in its messages."""
    return f"__{name}"


def sizes_of(schema: Schema, values: Values) -> Iterator[tuple[Size, int]]:
    """Yield the sizes of a call's tensors and its int arguments that may be symbols."""
    for argument in schema.arguments:
        name, value = argument.name, values[argument.name]
        items = list(enumerate(value)) if isinstance(value, list | tuple) else [(None, value)]
        for index, item in items:
            if isinstance(item, torch.Tensor):
                for axis, size in enumerate(item.shape):
                    yield (name, index, axis), size
            elif argument.type.base is Base.SYMINT and isinstance(item, int):
                yield (name, index, None), item
