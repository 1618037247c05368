"""The node of a derivative: it keeps values, and computes gradients in backward."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.kit.derive.facts import Gradient
from opwright.kit.emit.cpp.autograd.derivative import count_name, value_name
from opwright.kit.emit.cpp.autograd.formulas import apply_formulas
from opwright.kit.emit.cpp.layout import block, flow, message
from opwright.kit.emit.cpp.names import pascal
from opwright.kit.emit.cpp.types import find_kept_type

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opwright.kit.declare.schema import Argument
    from opwright.kit.derive.facts import BackwardArgument, SavedArgument, SavedOutput
    from opwright.kit.emit.cpp.autograd.derivative import Derivative
    from opwright.kit.emit.cpp.operators import OperatorCode

__all__ = ["node"]


def member(code: Derivative, value: SavedArgument | SavedOutput) -> str:
    """Return the declaration of a member that keeps a value."""
    name = code.saved[value]
    if code.is_list(value):
        return f"std::vector<torch::autograd::SavedVariable> {name};"
    if code.is_tensor(value):
        return f"torch::autograd::SavedVariable {name};"
    argument = code.argument(value_name(value))
    where = f"{code.code.where}, argument {argument.name!r}"
    return f"{find_kept_type(argument.type, where=where)} {name}{{}};"


def node(code: Derivative, operators: Mapping[str, OperatorCode]) -> list[str]:
    """Return the node."""
    name = pascal(code.code.name)
    members = [member(code, value) for value in code.saved]
    members += [f"size_t {count_name(each)} = 0;" for each in code.listed]
    body = [
        *block(["variable_list apply(variable_list&& grads) override {"], apply(code, operators)),
        *release(code),
        f'std::string name() const override {{ return "{name}Backward"; }}',
    ]
    return [
        *block(
            [f"struct {code.node} final : torch::autograd::Node {{"], [*body, "", *members], "};"
        ),
        "",
    ]


def release(code: Derivative) -> list[str]:
    """Return the function that frees saved tensors after backward."""
    lines = [
        f"{name}.clear();" if code.is_list(value) else f"{name}.reset_data();"
        for value, name in code.saved.items()
        if code.is_list(value) or code.is_tensor(value)
    ]
    return block(["void release_variables() override {"], lines) if lines else []


def apply(code: Derivative, operators: Mapping[str, OperatorCode]) -> list[str]:
    """Return the body: nothing for no gradient, else what the formulas or the operator say."""
    return [
        *block(["if (!any_defined(grads)) {"], ["return variable_list(num_outputs());"]),
        *refuse_only_saved(code),
        *(apply_formulas(code, operators) if code.has_formulas else call_backward(code)),
    ]


def call_backward(code: Derivative) -> list[str]:
    """Return the statements that call the backward operator and return the gradients."""
    taken = code.backward.facts.schema.arguments
    values = [
        pass_argument(code, value, argument)
        for value, argument in zip(code.autograd.arguments, taken, strict=True)
    ]
    call = f"{code.backward.name}().call("
    results = code.backward.facts.schema.results
    if len(results) == 1:
        opening, end = ("", ");") if results[0].type.is_list else ("{", ")};")
        return flow(f"return {opening}{call}", values, end)
    names = [f"grad_{name}" for name in code.autograd.inputs]
    lines = flow(f"auto [{', '.join(names)}] = {call}", values, ");")
    if not any(result.type.is_list for result in results):
        return [*lines, *flow("return {", names, "};")]
    lines.append("variable_list results;")
    for name, result in zip(names, results, strict=True):
        one = f"results.push_back({name});"
        many = f"results.insert(results.end(), {name}.begin(), {name}.end());"
        lines.append(many if result.type.is_list else one)
    return [*lines, "return results;"]


def refuse_only_saved(code: Derivative) -> list[str]:
    """Return the statements that raise for a gradient of an output that is only saved."""
    first = len(code.autograd.outputs)
    return [
        line
        for index, name in enumerate(code.autograd.only_saved, first)
        for line in flow(
            "refuse_gradient(",
            ["grads", code.place(index), message(f"{code.code.qualified}, output '{name}'")],
            ");",
        )
    ]


def pass_argument(code: Derivative, value: BackwardArgument, argument: Argument) -> str:
    """Return what the backward operator gets for an argument."""
    if isinstance(value, Gradient):
        place = code.place(code.autograd.outputs.index(value.output))
        if value.output in code.listed:
            return f"gradient_list(grads, {place}, {count_name(value.output)})"
        if argument.type.optional:
            return f"if_defined(grads[{place}])"
        if len(code.autograd.outputs) == 1:
            return f"grads[{place}]"
        return f"grads[{place}].defined() ? grads[{place}] : input_metadata({place}).zeros_like()"
    unpacked = code.unpacked(value)
    is_optional = code.is_tensor(value) and argument.type.optional
    return f"if_defined({unpacked})" if is_optional else unpacked
