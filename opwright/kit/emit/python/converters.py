"""`converters.py` of the package: for TorchAir, arguments of the schema -> a node's inputs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from opwright.kit.declare.rules import Promoted
from opwright.kit.declare.schema import Base
from opwright.kit.derive.facts import FromArgument
from opwright.kit.derive.functional import graph_form, has_graph_form, only_observes
from opwright.kit.emit.python.annotations import default_text
from opwright.kit.emit.python.api import signature_exemptions
from opwright.kit.emit.python.converter_checks import check_converters
from opwright.kit.emit.python.converter_samples import CLASSES, write_samples
from opwright.kit.emit.python.ge import node_names
from opwright.kit.emit.python.module import module
from opwright.kit.emit.python.names import function_name, overload_expression
from opwright.kit.emit.python.prototypes import graph_operators
from opwright.kit.emit.python.text import WIDTH, bracket, docstring, literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opwright.aclnn.prototype import Port, Prototype
    from opwright.kit.declare.rules import DtypeRule
    from opwright.kit.declare.schema import Argument
    from opwright.kit.derive.facts import OperatorFacts, Output, SetFacts
    from opwright.kit.emit.options import EmitOptions

__all__ = ["emit_converters", "list_authored"]

# Functions of `_converting.py`, imported where a converter calls them.
HELPERS = ("as_tensor", "assigned", "copied", "ge_dtype", "keep_node", "promoted")


def emit_converters(facts: SetFacts, written: Mapping[int, str], options: EmitOptions) -> str:
    """Return the converters.

    Parameters
    ----------
    written
        How the functions that the author wrote are called in `_reference.py`, by their identity.

    Raises
    ------
    ConverterParametersError, ConverterNodeError
        OPW-E004, OPW-E005.
    """
    check_converters(facts)
    nodes = node_names(facts)
    own = [
        f"register_fx_node_ge_converter({overload_expression(form, 'ops')})"
        f"(_reference.{written[id(form.operator.converter)]})"
        for form in list_authored(facts)
    ]
    pairs = [
        (form, nodes[operator.name])
        for operator in graph_operators(facts)
        if operator.operator.converter is None
        for form in (operator, *([graph_form(operator)] if has_graph_form(operator) else []))
    ]
    operators = [operator for operator, _ in pairs]
    package = options.package
    converters = [converter(operator, facts, node) for operator, node in pairs]
    calls = "\n".join(line for each in converters for line in each)
    helpers = [name for name in HELPERS if f"{name}(" in calls]
    exempt = converter_exemptions(operators, facts)
    modules = [*(["_reference"] if own else []), *(["ge"] if converters else [])]
    writes = any(has_graph_form(operator) for operator in graph_operators(facts))
    return module(
        "Converters for TorchAir: the operators as nodes of a GE graph. Import registers them.",
        *converters,
        own,
        ["mend_torchair()"] if writes else [],
        source=facts.declaration.source.name,
        imports=[
            ["from typing import Any"] if converters else [],
            [
                *(["import torch"] if "torch." in calls else []),
                "from torch_npu.dynamo.torchair import register_fx_node_ge_converter",
                *(support_imports(calls) if "@declare_supported" in calls else []),
            ],
            [
                *([f"from {package} import {', '.join(modules)}"] if modules else []),
                *([f"from {package}._converting import {', '.join(helpers)}"] if helpers else []),
                f"from {package}._ops import ops",
                *([f"from {package}._writing import mend_torchair"] if writes else []),
            ],
        ],
        comments=[
            "# Signatures are those of the schemas, as TorchAir calls converters.",
            *([f"# ruff: noqa: {', '.join(exempt)}"] if exempt else []),
            "# mypy: ignore-errors",
        ],
    )


def support_imports(calls: str) -> list[str]:
    """Return the imports of what says the samples."""
    names = ["Support", *(name for name in CLASSES.values() if f"{name}(" in calls)]
    module_name = "torchair._ge_concrete_graph.supported_declaration"
    line = f"from {module_name} import {', '.join(sorted(names))}"
    if len(line) > WIDTH:
        line = bracket(f"from {module_name} import (", sorted(names), ")")
    return ["from torchair._ge_concrete_graph.fx2ge_converter import declare_supported", line]


def list_authored(facts: SetFacts) -> list[OperatorFacts]:
    """Return the operators, in the form that graphs have, whose converters the author wrote."""
    declared = [each for each in facts.operators if each.role == "declared"]
    return [
        graph_form(each) if has_graph_form(each) else each
        for each in declared
        if each.operator.converter is not None
    ]


def converter_exemptions(operators: Sequence[OperatorFacts], facts: SetFacts) -> list[str]:
    """Return the rules of ruff that converters break."""
    codes = set({"ANN401"} if operators else ())
    codes.update(signature_exemptions(operator.schema for operator in operators))
    codes -= {"FBT001", "N802"}  # parameters are annotated Any, names begin with convert_
    for operator in operators:
        used = " ".join(body_lines(operator, facts, "node"))
        names = [argument.name for argument in operator.schema.arguments]
        if any(not re.search(rf"\b{name}\b(?!=)", used) for name in names):
            codes.add("ARG001")
    return sorted(codes)


def converter(operator: OperatorFacts, facts: SetFacts, node: str) -> list[str]:
    """Return the converter of an operator."""
    prototype = operator.prototype
    assert prototype is not None
    parameters: list[str] = []
    for argument in operator.schema.arguments:
        if argument.keyword_only and "*" not in parameters:
            parameters.append("*")
        default = default_text(argument)
        parameters.append(f"{argument.name}: Any" + ("" if default is None else f" = {default}"))
    body = body_lines(operator, facts, node)
    if any("meta_outputs" in line for line in body):
        parameters.append("meta_outputs: Any = None")
    return [
        *write_samples(operator),
        f"@register_fx_node_ge_converter({overload_expression(operator, 'ops')})",
        bracket(f"def convert_{function_name(operator.name)}(", parameters, ") -> Any:"),
        *docstring(f"Convert ``{operator.name}`` to ``{prototype.op_type}``.", indent="    "),
        *body,
    ]


def body_lines(operator: OperatorFacts, facts: SetFacts, node: str) -> list[str]:
    """Return what a converter does."""
    prototype = operator.prototype
    assert prototype is not None
    inputs = [
        argument for _, argument in inputs_of(operator, prototype) if argument.type.has_tensors
    ]
    copies = [f"    {a.name} = copied({a.name})" for a in inputs if a.name in operator.clones]
    casts = [
        f"    {name} = promoted({name}, {meta_output(output, operator)}.dtype)"
        for name, output in promotions(operator, prototype).items()
        if name in {argument.name for argument in inputs}
    ]
    call = bracket(f"ge.{node}(", node_arguments(operator, prototype), ")", indent="    ")
    return [*copies, *casts, *result_lines(operator, prototype, facts, call.lstrip())]


def promotions(operator: OperatorFacts, prototype: Prototype) -> dict[str, Output]:
    """Return the arguments that are cast to the dtype of an output, which they have together.

    A prototype that promotes itself takes them as they are, and what is written keeps its dtype.
    """
    found: dict[str, Output] = {}
    promoting = {symbol.name for symbol in prototype.symbols if symbol.promoted}
    ports = {port.name: port for port in prototype.outputs}
    if operator.operator.schema.mutated:
        return found
    for output in operator.outputs:
        port = ports.get(output.name)
        if output.result is None or (port is not None and port.symbol in promoting):
            continue
        for name in list_promoted(output.dtype):
            found.setdefault(name, output)
    return found


def list_promoted(rule: DtypeRule | None) -> tuple[str, ...]:
    """Return the arguments that a rule promotes; a dtype that the caller gives is not theirs."""
    return rule.tensors if isinstance(rule, Promoted) else ()


def meta_output(output: Output, operator: OperatorFacts) -> str:
    """Return what Meta says of a result."""
    results = [each for each in operator.outputs if each.result is not None]
    return "meta_outputs" if len(results) == 1 else f"meta_outputs[{output.result}]"


def inputs_of(operator: OperatorFacts, prototype: Prototype) -> list[tuple[Port, Argument]]:
    """Return the inputs with the arguments that they stand for.

    Values that the host reads are inputs of the arguments' names, other inputs the tensors in the
    order of the schema.
    """
    arguments = operator.schema.arguments
    by_name = {argument.name: argument for argument in arguments}
    hosted = {p.name for p in prototype.inputs if (p.scalar or p.values) and p.name in by_name}
    tensors = iter(
        [
            argument
            for argument in arguments
            if argument.type.has_tensors
            and argument.name not in hosted
            and not is_only_written(argument, operator)
        ]
    )
    return [
        (port, by_name[port.name] if port.name in hosted else next(tensors))
        for port in prototype.inputs
    ]


def is_only_written(argument: Argument, operator: OperatorFacts) -> bool:
    """Return whether an argument is written without being read, like `out`."""
    originals = operator.operator.schema.arguments
    place = [each.name for each in operator.schema.arguments].index(argument.name)
    return originals[place].is_written and originals[place].keyword_only


def node_arguments(operator: OperatorFacts, prototype: Prototype) -> list[str]:
    """Return what the function that adds the node gets."""
    ports = inputs_of(operator, prototype)
    hosted = {argument.name for _, argument in ports if not argument.type.has_tensors}
    others = [
        argument
        for argument in operator.schema.arguments
        if not argument.type.has_tensors
        and not argument.type.base.is_allocation
        and argument.type.base is not Base.GENERATOR
        and argument.name not in hosted
    ]
    items = [
        argument.name if argument.type.has_tensors else f"as_tensor({argument.name})"
        for _, argument in ports
    ]
    items += [
        f"size_of_{port.name}={size_of(port, operator)}"
        for port in prototype.outputs
        if port.presence == "dynamic"
    ]
    items += [
        f"{attribute.name}={argument_value(argument, operator)}"
        for attribute, argument in zip(prototype.attributes, others, strict=False)
    ]
    return items


def size_of(port: Port, operator: OperatorFacts) -> str:
    """Return how many tensors a list of results has; a written list has as many as it had."""
    output = next((o for o in operator.outputs if port.name in (o.name, o.argument)), None)
    if output is not None and output.argument is not None:
        return f"len({output.argument})"
    if output is None or output.result is None:
        return "len(meta_outputs)"
    return f"len({meta_output(output, operator)})"


def argument_value(argument: Argument, operator: OperatorFacts) -> str:
    """Return an argument as the value of an attribute."""
    name = argument.name
    value = f"ge_dtype({name})" if argument.type.base is Base.SCALAR_TYPE else name
    sources = [parameter.source for parameter in operator.call.parameters] if operator.call else []
    for source in sources:
        if (
            isinstance(source, FromArgument)
            and source.name == name
            and source.otherwise is not None
        ):
            return f"{literal(source.otherwise)} if {name} is None else {value}"
    return value


def result_lines(
    operator: OperatorFacts, prototype: Prototype, facts: SetFacts, call: str
) -> list[str]:
    """Return the lines that add the node and return what the schema returns."""
    original = facts.operator(operator.operator.name) or operator
    ports = [
        output.argument or output.name for output in original.outputs if output.type.has_tensors
    ]
    wanted = [
        ports.index(output.argument or output.name)
        for output in sorted(operator.outputs, key=lambda each: each.result or 0)
        if output.result is not None and output.type.has_tensors
    ]
    single = len(prototype.outputs) == 1
    variable = "result" if single else "results"
    while operator.schema.argument(variable) is not None:
        variable += "_"
    values = [variable if single else f"{variable}[{index}]" for index in range(len(ports))]
    lines = [f"    {variable} = {call}"] if values else [f"    {call}"]
    assigned = False
    for argument in operator.schema.arguments:
        if argument.is_written and is_only_written(argument, operator):
            index = ports.index(original_name(argument, operator))
            inputs = [each.name for _, each in inputs_of(operator, prototype)]
            given = ", ".join([argument.name, values[index], *inputs])
            lines.append(f"    {argument.name} = assigned({given})")
            values[index] = argument.name
            assigned = True
    if only_observes(operator) and not operator.operator.schema.mutated:
        return [f"    {call}", "    keep_node()"]
    if not wanted:
        return lines if assigned else [f"    {call}"]
    if not assigned and (single or wanted == list(range(len(ports)))):
        return [f"    return {call}"]
    return [*lines, f"    return {', '.join(values[index] for index in wanted)}"]


def original_name(argument: Argument, operator: OperatorFacts) -> str:
    """Return an argument's name in the declared operator; its graph form may have another."""
    place = [each.name for each in operator.schema.arguments].index(argument.name)
    return operator.operator.schema.arguments[place].name
