"""An exported program (torch.export) -> a TorchScript module with the same ATen operators.

Nodes keep their operators and constants; sizes that vary stay integers of the graph. What has no
form in TorchScript (control flow of torch.export, changed buffers) is an error that names it.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, NoReturn, cast

import torch
from torch.export.graph_signature import InputKind, OutputKind

from torch_aie import _C
from torch_aie._internals import Graph, OpOverload, wrap_cpp_module

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch.fx import Node

__all__ = ["script_module"]

Value = Any  # torch._C.Value, like all of TorchScript's graphs, has no complete declaration
_torch: Any = torch  # its declarations of TorchScript's types are not complete
_WEIGHTS = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)

# The numbers of PyTorch's enums in TorchScript (c10/core/ScalarType.h, Layout.h, MemoryFormat.h).
_NUMBERS: dict[object, int] = {
    torch.uint8: 0,
    torch.int8: 1,
    torch.int16: 2,
    torch.int32: 3,
    torch.int64: 4,
    torch.float16: 5,
    torch.float32: 6,
    torch.float64: 7,
    torch.bool: 11,
    torch.bfloat16: 15,
    torch.strided: 0,
    torch.contiguous_format: 0,
    torch.preserve_format: 1,
    torch.channels_last: 2,
    torch.channels_last_3d: 3,
}
# Arithmetic on sizes that vary.
_INTEGER_OPERATORS: dict[Callable[..., Any], str] = {
    operator.add: "aten::add",
    operator.sub: "aten::sub",
    operator.mul: "aten::mul",
    operator.floordiv: "aten::floordiv",
    operator.mod: "aten::remainder",
    operator.neg: "aten::neg",
    torch.sym_max: "prim::max",
    torch.sym_min: "prim::min",
}
# Checks of sizes, made by torch.export: compiled inputs are checked against their declaration.
_CHECKS = ("aten::_assert_scalar", "aten::_assert_tensor_metadata", "aten::sym_constrain_range")
_RENAMED = {"aten::sym_size": "aten::size", "aten::lift_fresh_copy": "aten::clone"}


def script_module(
    program: torch.export.ExportedProgram, weights: dict[str, torch.Tensor] | None = None
) -> torch.jit.ScriptModule:
    """Return the program as a module whose forward takes its tensor inputs and returns a tuple.

    Parameters
    ----------
    program
        Of torch.export, in evaluation mode.
    weights
        Inputs, by the names of their placeholders, that become constants of the module.

    Raises
    ------
    ValueError
        That names the node which has no form in TorchScript.
    """
    changed = [
        spec
        for spec in program.graph_signature.output_specs
        if spec.kind not in (OutputKind.USER_OUTPUT, OutputKind.TOKEN)
    ]
    if changed:
        _refuse_change(changed[0].target)
    return _Builder(program, weights or {}).build()


class _Builder:
    def __init__(
        self, program: torch.export.ExportedProgram, weights: dict[str, torch.Tensor]
    ) -> None:
        self.program = program
        self.graph = Graph()
        self.values: dict[Any, Any] = {}  # a value, or the values of a tuple or list
        self.weights = {**_weights_of(program), **weights}
        self.tensors: list[torch.Tensor] = []

    def build(self) -> torch.jit.ScriptModule:
        nodes = self.program.graph_module.graph.nodes
        inputs = [node for node in nodes if node.op == "placeholder"]
        # The module takes its weights away from the front.
        for node in sorted(inputs, key=lambda node: node.name not in self.weights):
            self._placeholder(node)
        for node in nodes:
            if node.op == "call_function":
                self._call(node)
            elif node.op == "output":
                self._output(node)
            elif node.op != "placeholder":
                _refuse(node)
        tensors = [tensor.detach().cpu() for tensor in self.tensors]
        made = _C.module_of(self.graph, tensors)
        wrapped = wrap_cpp_module(made)
        wrapped.eval()
        return wrapped

    def _placeholder(self, node: Node) -> None:
        if node.name in self.weights:
            self.tensors.append(self.weights[node.name])
        elif not isinstance(node.meta.get("val"), torch.Tensor):
            self.values[node] = self._constant(node.meta.get("val"))
            return
        self.values[node] = self.graph.addInput()

    def _call(self, node: Node) -> None:
        if node.target is operator.getitem:
            source, index = cast("tuple[Node, int]", node.args)
            self.values[node] = self._unpacked(source)[index]
        elif node.target in _INTEGER_OPERATORS:
            inputs = [self._value(argument) for argument in node.args]
            name = _INTEGER_OPERATORS[node.target]
            self.values[node] = self._insert(name, inputs, [_torch.IntType.get()])[0]
        elif isinstance(node.target, OpOverload):
            self._operator(node, node.target)
        else:
            _refuse(node)

    def _operator(self, node: Node, target: OpOverload) -> None:
        name = target._schema.name  # noqa: SLF001 - operators have their schema there
        if name in _CHECKS:
            return
        self._expect_constant_weights(node, target)
        inputs = [self._argument(node, argument) for argument in _arguments(node, target)]
        if name == "aten::lift_fresh_copy":
            inputs.append(self._constant(None))  # the memory format of clone
        types = [_type(returned.type) for returned in target._schema.returns]  # noqa: SLF001 - as above
        outputs = self._insert(_RENAMED.get(name, name), inputs, types)
        self.values[node] = outputs[0] if len(outputs) == 1 else outputs

    def _expect_constant_weights(self, node: Node, target: OpOverload) -> None:
        for declared, given in _arguments(node, target):
            written = declared.alias_info is not None and declared.alias_info.is_write
            if written and isinstance(given, torch.fx.Node) and given.name in self.weights:
                _refuse_change(given.name)

    def _argument(self, node: Node, argument: tuple[Any, Any]) -> Value:
        declared, given = argument
        kind = str(declared.type).removeprefix("Optional[").removesuffix("]")
        if kind == "float" and isinstance(given, int):
            given = float(given)
        if isinstance(given, (list, tuple)) and not given:
            return self._list([], _element_type(declared.type))
        if isinstance(given, complex):
            _refuse(node)
        return self._value(given)

    def _value(self, given: object) -> Value:
        if isinstance(given, torch.fx.Node):
            value = self.values[given]
            if isinstance(value, list):
                return self._insert("prim::TupleConstruct", value, [None])[0]
            return value
        if isinstance(given, (list, tuple)):
            values = [self._value(element) for element in given]
            types = [value.type() for value in values]
            tensor = next((kind for kind in types if isinstance(kind, _torch.TensorType)), None)
            element = tensor or types[0]
            if any(str(kind) == "NoneType" for kind in types):
                element = _torch.OptionalType(tensor or _torch.TensorType.get())
            return self._list(values, element)
        return self._constant(given)

    def _constant(self, value: object) -> Value:
        try:
            known = _NUMBERS.get(value, value)
        except TypeError:
            known = value
        return self.graph.insertConstant(known)

    def _list(self, values: Sequence[Value], element: object) -> Value:
        kind = _torch.ListType(element)
        return self._insert("prim::ListConstruct", values, [kind])[0]

    def _insert(self, name: str, inputs: Sequence[Value], types: Sequence[Any]) -> list[Value]:
        made = self.graph.insertNode(self.graph.create(name, list(inputs), len(types)))
        outputs = list(made.outputs())
        for output, kind in zip(outputs, types, strict=True):
            if kind is not None:
                output.setType(kind)
        return outputs

    def _unpacked(self, node: Node) -> list[Value]:
        value = self.values[node]
        if not isinstance(value, list):  # a list: its length is known from the export
            count = len(node.meta["val"])
            tensor = _torch.TensorType.get()
            value = self._insert("prim::ListUnpack", [value], [tensor] * count)
            self.values[node] = value
        return value

    def _output(self, node: Node) -> None:
        values = [
            self._value(given) for given in _outputs(node) if isinstance(given, torch.fx.Node)
        ]
        tuple_type = _torch.TupleType([value.type() for value in values])
        self.graph.registerOutput(self._insert("prim::TupleConstruct", values, [tuple_type])[0])


def _outputs(node: Node) -> Sequence[object]:
    return cast("Sequence[object]", node.args[0])


def _weights_of(program: torch.export.ExportedProgram) -> dict[str, torch.Tensor]:
    return {
        spec.arg.name: program.state_dict[spec.target]
        if spec.target in program.state_dict
        else program.constants[spec.target]
        for spec in program.graph_signature.input_specs
        if spec.kind in _WEIGHTS
    }


def _arguments(node: Node, target: OpOverload) -> list[tuple[Any, Any]]:
    """Pair the operator's declared arguments with what the node gives, or else their defaults."""
    declared = target._schema.arguments  # noqa: SLF001 - operators have their schema there
    pairs = []
    for position, argument in enumerate(declared):
        if position < len(node.args):
            given = node.args[position]
        elif argument.name in node.kwargs:
            given = node.kwargs[argument.name]
        else:
            given = argument.default_value
        pairs.append((argument, given))
    return pairs


def _type(declared: Any) -> Any:  # noqa: ANN401 - TorchScript's types have no public name
    return _torch.IntType.get() if str(declared) == "SymInt" else declared


def _element_type(declared: Any) -> Any:  # noqa: ANN401 - TorchScript's types have no public name
    text = str(declared)
    if "Tensor" in text:
        return _torch.TensorType.get()
    if "float" in text:
        return _torch.FloatType.get()
    if "bool" in text:
        return _torch.BoolType.get()
    return _torch.IntType.get()


def _refuse_change(name: str | None) -> NoReturn:
    msg = f"the program changes {name!r}: compile modules in evaluation mode"
    raise ValueError(msg)


def _refuse(node: Node) -> NoReturn:
    trace = (node.stack_trace or "").strip().splitlines()
    where = f", from {trace[-1].strip()!r}" if trace else ""
    msg = (
        f"node {node.name!r} ({node.op} of {node.target}){where} has no form in TorchScript:"
        " allowed are PyTorch's operators on tensors and sizes"
    )
    raise ValueError(msg)
