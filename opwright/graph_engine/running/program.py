"""An FX graph of ATen operators -> a program that runs without the interpreter lock.

The graph is static, so all that is left to do in a step is to call operators one after the other.
TorchScript's interpreter does that in C++: in a third of the time of the generated Python, and
while other threads run Python. It drops each tensor after its last use.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, cast

import torch

from opwright.internals import jit
from opwright.internals.dispatcher import OpOverload

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from torch.fx.node import Argument, Node

    from opwright.graph_engine.lowering.lower import Lowered

    Program = Callable[..., tuple[torch.Tensor, ...]]

__all__ = ["Program", "program_of"]


# Enumerations as operators take them.
CODES: dict[object, int] = {
    torch.strided: 0,
    torch.contiguous_format: 0,
    torch.preserve_format: 1,
    torch.channels_last: 2,
    torch.channels_last_3d: 3,
}


# Runs in the caller's thread, where the interpreter loses the text of its errors.
IN_PYTHON = "opwright_engine::launch"


class UnsupportedError(Exception):
    """Something that the interpreter cannot express; the generated Python can."""


def program_of(lowered: Lowered) -> Program:
    """Return a function that does what the graph's module does: the module itself if need be."""
    try:
        graph = Translation(lowered.module.graph).graph
    except UnsupportedError:
        return cast("Program", lowered.module.forward)
    return cast("Program", jit.create_function_from_graph("graph", graph))


class Translation:
    """The graph of the interpreter for a graph of FX.

    Raises
    ------
    UnsupportedError
        An operator that it cannot call, or an argument that it cannot pass.
    """

    def __init__(self, source: torch.fx.Graph) -> None:
        self.graph = jit.Graph()
        self.values: dict[Node, torch.Value | tuple[torch.Value, ...]] = {}
        for node in source.nodes:
            self.add(node)

    def add(self, node: Node) -> None:
        """Translate one node."""
        if node.op == "placeholder":
            value = self.graph.addInput()
            value.setType(torch.TensorType.get())
            self.values[node] = value
        elif node.op == "get_attr":
            owner = node.graph.owning_module
            self.values[node] = self.constant(getattr(owner, str(node.target)))
        elif node.op == "output":
            results = [self.tensor(each) for each in cast("Sequence[Argument]", node.args[0])]
            made = self.graph.insertNode(self.graph.create("prim::TupleConstruct", results, 1))
            made.output().setType(torch.TupleType([r.type() for r in results]))
            self.graph.registerOutput(made.output())
        elif node.target is operator.getitem:
            self.values[node] = self.element(*cast("tuple[Node, int]", node.args))
        elif isinstance(node.target, OpOverload):
            self.values[node] = self.call(node.target, node.args, node.kwargs)
        else:
            raise UnsupportedError(node)

    def call(
        self,
        function: OpOverload,
        args: Sequence[Argument],
        kwargs: Mapping[str, Argument],
    ) -> torch.Value | tuple[torch.Value, ...]:
        """Call an operator with all of its arguments, so that it is found by their types."""
        schema = function._schema  # noqa: SLF001 - the only access to it
        if schema.name == IN_PYTHON:
            raise UnsupportedError(schema)
        given = {**dict(zip((a.name for a in schema.arguments), args, strict=False)), **kwargs}
        inputs = []
        exact = True
        for formal in schema.arguments:
            value = given.get(formal.name, formal.default_value)
            # A number in place of a tensor: the overload that takes a number is meant.
            exact = exact and not (is_tensor_type(formal.type) and isinstance(value, int | float))
            inputs.append(self.argument(value, formal.type))
        made = self.graph.insertNode(self.graph.create(schema.name, inputs, len(schema.returns)))
        found = made.schema()
        wanted = str(schema) if exact else f"{schema.name}.Scalar"
        if not found.startswith(wanted):
            raise UnsupportedError(schema, found)
        results = tuple(made.outputs())
        for result, formal in zip(results, schema.returns, strict=True):
            result.setType(formal.type)
        return results[0] if len(results) == 1 else results

    def element(self, source: Node, index: int) -> torch.Value:
        """Return one result of a call, or one element of the list that is its result."""
        values = self.values[source]
        if isinstance(values, tuple):
            return values[index]
        chosen = self.graph.create("aten::__getitem__", [values, self.constant(index)], 1)
        result = self.graph.insertNode(chosen).output()
        result.setType(torch.TensorType.get())
        return result

    def tensor(self, argument: Argument) -> torch.Value:
        """Return the value of a node."""
        value = self.values.get(argument) if isinstance(argument, torch.fx.Node) else None
        if not isinstance(value, torch.Value):
            raise UnsupportedError(argument)
        return value

    def argument(self, argument: Argument, formal: jit.JitType) -> torch.Value:
        """Return an argument as its type wants it."""
        if isinstance(argument, torch.fx.Node):
            return self.tensor(argument)
        if argument is None:
            return self.constant(None)
        wanted = formal.getElementType() if formal.kind() == "OptionalType" else formal
        if isinstance(argument, list | tuple) and wanted.kind() == "ListType":
            return self.sequence(argument, wanted.getElementType())
        if wanted.kind() == "FloatType" and isinstance(argument, int):
            argument = float(argument)
        if isinstance(argument, bool) and wanted.kind() != "BoolType":
            raise UnsupportedError(argument)
        if isinstance(argument, torch.layout | torch.memory_format):
            return self.constant(CODES.get(argument, argument))
        return self.constant(argument)

    def sequence(self, elements: Sequence[Argument], formal: jit.JitType) -> torch.Value:
        """Return a list."""
        if elements and formal.kind() == "IntType":
            return self.constant([*elements])
        values = [self.argument(each, formal) for each in elements]
        made = self.graph.insertNode(self.graph.create("prim::ListConstruct", values, 1))
        made.output().setType(torch.ListType(formal))
        return made.output()

    def constant(self, value: object) -> torch.Value:
        """Return a constant."""
        try:
            return cast("torch.Value", cast("Any", self.graph).insertConstant(value))
        except (RuntimeError, TypeError) as error:
            raise UnsupportedError(value) from error


def is_tensor_type(formal: jit.JitType) -> bool:
    """Whether an argument of this type is a tensor."""
    return formal.isSubtypeOf(torch.OptionalType(torch.TensorType.get()))
