"""`twin_kernels.py` of the emitted tests: the references as kernels of opwright's twin."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from opwright.aclnn.signature import CType
from opwright.kit.declare.rules import DtypeArgument
from opwright.kit.declare.schema import Base
from opwright.kit.derive.facts import FromArgument, FromConstant, FromGenerator, FromOutput
from opwright.kit.emit.python.annotations import default_text
from opwright.kit.emit.python.module import module
from opwright.kit.emit.python.text import WIDTH, bracket, literal

if TYPE_CHECKING:
    from opwright.kit.declare.schema import Argument
    from opwright.kit.derive.facts import OperatorFacts, Output, Parameter, SetFacts
    from opwright.kit.emit.options import EmitOptions
    from opwright.kit.emit.python.source import Extracted

__all__ = ["emit_conftest", "emit_twin_kernels"]

ARRAYS = frozenset(
    {CType.INT_ARRAY, CType.FLOAT_ARRAY, CType.BOOL_ARRAY, CType.TENSOR_LIST, CType.SCALAR_LIST}
)


def emit_conftest(facts: SetFacts) -> str:
    """Return what pytest runs first: on opwright's twin the references are the NPU's kernels."""
    return module(
        "On opwright's twin, the reference functions are the NPU's kernels.",
        ['if "opwright.twin" in sys.modules:', '    importlib.import_module("twin_kernels")'],
        source=facts.declaration.source.name,
        imports=[["import importlib", "import sys"]],
    )


def emit_twin_kernels(facts: SetFacts, extracted: Extracted, options: EmitOptions) -> str | None:
    """Return the kernels for the twin: one for each aclnn function that has a reference."""
    functions: dict[str, list[OperatorFacts]] = {}
    for each in facts.operators:
        if each.role == "declared" and each.call and each.operator.reference:
            functions.setdefault(each.call.function, []).append(each)
    if not functions:
        return None
    kernels = [twin_kernel(name, group, extracted) for name, group in functions.items()]
    text = "\n".join(line for kernel in kernels for line in kernel)
    codes = {"ANN001", "ANN201", "N802"}
    if any(len(line) > WIDTH for line in text.splitlines()):
        codes.add("E501")
    arguments = {a.name for group in functions.values() for a in group[0].schema.arguments}
    if arguments & set(dir(builtins)):
        codes.add("A002")
    if arguments & {"l", "O", "I"}:
        codes.add("E741")
    if any(name != name.lower() for name in arguments):
        codes.add("N803")
    return module(
        "The reference functions as kernels of opwright's twin of an NPU.",
        *kernels,
        source=facts.declaration.source.name,
        imports=[
            ["from opwright import twin"],
            [f"from {options.package} import _reference"],
        ],
        comments=[
            f"# ruff: noqa: {', '.join(sorted(codes))}",
            "# mypy: ignore-errors",
        ],
    )


def twin_kernel(function: str, group: list[OperatorFacts], extracted: Extracted) -> list[str]:
    """Return the kernel of one function; constants show which of several operators called it."""
    first = group[0]
    assert first.call is not None
    names = [parameter_name(index, each) for index, each in enumerate(first.call.parameters)]
    body: list[str] = []
    for operator in group:
        lines = reference_call(operator, names, extracted)
        condition = constants(operator, names)
        if not condition:
            body += [f"    {line}" for line in lines]
            break
        body += [f"    if {condition}:", *(f"        {line}" for line in lines), "        return"]
    head = bracket(f"def {function}(", names, "):")
    decorator = bracket("@twin.kernel(", [literal(str(first.call.signature))], ")")
    return [decorator.replace('",\n)', '"\n)'), head, *body]


def parameter_name(index: int, parameter: Parameter) -> str:
    """Return a name for a C parameter."""
    match parameter.source:
        case FromArgument(name) | FromOutput(name):
            return name
        case FromGenerator(name, part):
            return f"{name}_{part}"
        case _:
            return f"constant{index}"


def constants(operator: OperatorFacts, names: list[str]) -> str:
    """Return the condition that holds when an operator passed its constants."""
    assert operator.call is not None
    return " and ".join(
        f"{name} == {literal(parameter.source.value)}"
        for name, parameter in zip(names, operator.call.parameters, strict=False)
        if isinstance(parameter.source, FromConstant) and parameter.source.value is not None
    )


def reference_call(operator: OperatorFacts, names: list[str], extracted: Extracted) -> list[str]:
    """Return the lines that run a reference and write its results."""
    assert operator.call is not None
    assert operator.operator.reference is not None
    passed = {
        parameter.source.name: (name, parameter.ctype)
        for name, parameter in zip(names, operator.call.parameters, strict=False)
        if isinstance(parameter.source, FromArgument)
    }
    dtypes = {
        output.dtype.name: f"{output.name}{'[0]' * output.type.is_list}.dtype"
        for output in operator.outputs
        if isinstance(output.dtype, DtypeArgument) and output.name in names
    }
    items = []
    for argument in operator.schema.arguments:
        if argument.name not in passed and argument.name in dtypes:
            text = dtypes[argument.name]
        elif argument.name in passed:
            text = as_schema(argument, *passed[argument.name])
        elif argument.name in operator.drawn:
            text = f"twin.generator({argument.name}_seed, {argument.name}_offset)"
        else:
            text = default_text(argument) or "None"
        items.append(f"{argument.name}={text}" if argument.keyword_only else text)
    call = f"_reference.{extracted.name(operator.operator.reference)}({', '.join(items)})"
    new = [output for output in operator.outputs if output.is_new]
    returned = [output for output in operator.outputs if output.result is not None]
    if not new:
        return [call]
    if len(new) == 1 and len(returned) == 1:
        return write_result(new[0], call)
    lines = [f"results = {call}", "results = results if isinstance(results, tuple) else (results,)"]
    if any(output.type.is_list for output in new):
        return [
            *lines,
            *(line for o in new for line in write_result(o, f"results[{o.result}]")),
        ]
    if len(new) < len(returned):
        all_places = literal(tuple(output.result for output in new))
        lines += [
            f"is_complete = len(results) == {len(returned)}",
            f"places = {all_places} if is_complete else range({len(new)})",
        ]
        targets = ", ".join(output.name for output in new)
        lines.append(f"for place, output in zip(places, ({targets},), strict=True):")
        lines.append("    output.copy_(results[place])")
        return lines
    targets = ", ".join(output.name for output in new)
    return [
        *lines,
        f"for output, result in zip(({targets}), results, strict=True):",
        "    output.copy_(result)",
    ]


def write_result(output: Output, result: str) -> list[str]:
    """Return the lines that write a result, or each of a list; an empty list is None here."""
    if not output.type.is_list:
        return [f"{output.name}.copy_({result})"]
    return [
        f"for output, result in zip({output.name} or [], {result}, strict=True):",
        "    output.copy_(result)",
    ]


def as_schema(argument: Argument, name: str, ctype: CType) -> str:
    """Return a C parameter as the schema has it."""
    kind = argument.type
    if kind.is_list and ctype in ARRAYS:
        return name if kind.optional else f"{name} or []"
    if kind.is_list:
        return f"[{name}]"
    if ctype in ARRAYS:
        return f"{name}[0]"
    if kind.base is Base.BOOL and ctype is not CType.BOOL:
        return f"bool({name})"
    return name
