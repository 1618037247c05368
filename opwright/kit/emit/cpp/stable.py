"""The stable build: schemas and NPU kernels on libtorch's stable ABI.

Sizes are numbers there, and there are neither autograd nodes nor functional wrappers: Meta kernels,
derivatives and functionalization of such a package are in Python. `stable_limits` says so per
operator.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.kit.declare.reserved import safe
from opwright.kit.declare.rules import Cpp, Promoted, ShapeFunction
from opwright.kit.declare.schema import Base
from opwright.kit.emit.cpp.checks import checks
from opwright.kit.emit.cpp.errors import CppTypeError
from opwright.kit.emit.cpp.layout import block, flow, message
from opwright.kit.emit.cpp.names import Locals, unique_names
from opwright.kit.emit.cpp.operators import (
    fill_list,
    schema_line,
    tensor_arguments,
    words,
)
from opwright.kit.emit.cpp.parameters import parameter_value
from opwright.kit.emit.cpp.text import read_file
from opwright.kit.emit.header import with_header
from opwright.kit.expressions.print_cpp import Scope, count, dtype, shape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opwright.kit.declare.schema import Argument, ValueType
    from opwright.kit.derive.facts import OperatorFacts, SetFacts

__all__ = ["SINCE", "StableLimit", "emit_stable", "stable_limits"]

# The first torch with torch_stream_native_handle.
SINCE = "2.13"
SINGLE = {
    Base.TENSOR: "Tensor",
    Base.INT: "int64_t",
    Base.SYMINT: "int64_t",
    Base.FLOAT: "double",
    Base.BOOL: "bool",
    Base.STR: "std::string",
    Base.SCALAR_TYPE: "ScalarType",
    Base.DEVICE: "torch::stable::Device",
    Base.LAYOUT: "torch::headeronly::Layout",
    Base.MEMORY_FORMAT: "torch::headeronly::MemoryFormat",
}
BY_VALUE = frozenset({"int64_t", "double", "bool", "ScalarType"})


@dataclass(frozen=True, slots=True, kw_only=True)
class StableLimit:
    """A part of an operator that a stable package cannot have in C++.

    Parameters
    ----------
    operator
        Its full name.
    what
        The part: kernel, Meta, autograd, functionalization.
    reason
        Why, in a sentence.
    """

    operator: str
    what: str
    reason: str


def stable_limits(facts: SetFacts) -> tuple[StableLimit, ...]:
    """Return why parts of operators are not in the C++ of a stable package.

    An operator with the limit `kernel` cannot be in such a package at all.
    """
    return tuple(
        StableLimit(operator=each.name, what=what, reason=reason)
        for each in facts.operators
        for what, reason in limits(each)
    )


def limits(facts: OperatorFacts) -> list[tuple[str, str]]:
    """Return the limits of one operator."""
    if facts.call is None:
        return []
    found = [
        ("kernel", f"argument {argument.name!r}: the stable ABI passes no {argument.type}")
        for argument in facts.schema.arguments
        if not is_passable(argument.type)
    ]
    for output in facts.outputs:
        if isinstance(output.shape, Cpp | ShapeFunction) or isinstance(output.dtype, Cpp):
            found.append(("kernel", f"output {output.name!r}: a rule that needs c10::SymInt"))
        if isinstance(output.dtype, Promoted):
            found.append(
                ("kernel", f"output {output.name!r}: the stable ABI has no type promotion")
            )
    found.append(("Meta", "sizes of the stable ABI are int64_t, never symbolic; it is in Python"))
    if facts.autograd is not None:
        found.append(("autograd", "the stable ABI has no autograd nodes; it is in Python"))
    if facts.functional_twin is not None:
        found.append(
            ("functionalization", "the stable ABI has no functional tensors; it is in Python")
        )
    return found


def is_passable(value: ValueType) -> bool:
    """Return whether the stable ABI passes values of a type."""
    return value.base in SINGLE and not (
        value.is_list and value.optional and value.base is Base.BOOL
    )


def plain_type(value: ValueType) -> str:
    """Return the type of a value without reference."""
    inner = SINGLE[value.base]
    if value.optional_elements:
        inner = f"std::optional<{inner}>"
    if value.is_list:
        inner = f"std::vector<{inner}>"
    return f"std::optional<{inner}>" if value.optional else inner


def emit_stable(facts: SetFacts) -> Mapping[str, str]:
    """Return the C++ files by path.

    Raises
    ------
    CppTypeError
        OPW-E101: an operator that the stable ABI cannot express.
    """
    namespace = facts.declaration.namespace
    for limit in stable_limits(facts):
        if limit.what == "kernel":
            found = facts.operator(limit.operator)
            place = found.operator.place if found else facts.declaration.place
            raise CppTypeError(
                where=f"{place}, operator {namespace}::{limit.operator}, stable ABI",
                got=limit.reason,
                fix="build without --stable-abi, or change the declaration",
            )
    names = unique_names(facts)
    kernels = [
        StableKernel(each, names[each.name], namespace) for each in facts.operators if each.call
    ]
    files = {
        "operators.cpp": unit(facts, kernels, namespace),
        "aclnn_call.h": read_file("stable_aclnn_call.h").replace("NAMESPACE", namespace),
        "tensors.h": read_file("stable_tensors.h").replace("NAMESPACE", namespace),
    }
    if not kernels:
        files = {"operators.cpp": files["operators.cpp"]}
    source = facts.declaration.source.name
    return {
        f"csrc/{name}": with_header(text, source=source, comment="//")
        for name, text in sorted(files.items())
    }


def target_version(torch: str) -> str:
    """Return a minor version of torch in the form of torch's headers.

    >>> target_version("2.13")
    '0x020d000000000000'
    """
    major, minor = map(int, torch.split("."))
    return f"0x{major:02x}{minor:02x}{0:012x}"


def unit(facts: SetFacts, kernels: Sequence[StableKernel], namespace: str) -> str:
    """Return operators.cpp."""
    lines = [
        "// operators.cpp: schemas and NPU kernels on libtorch's stable ABI.",
        f"#define TORCH_TARGET_VERSION {target_version(SINCE)}  // {SINCE}",
        "#include <torch/csrc/stable/library.h>",
    ]
    if kernels:
        lines += ["", '#include "aclnn_call.h"', '#include "tensors.h"']
        lines += ["", f"namespace {namespace} {{", "namespace {", ""]
        lines += [line for kernel in kernels for line in [*kernel_function(kernel), ""]]
        lines += ["}  // namespace", f"}}  // namespace {namespace}"]
    schemas = [line for each in facts.operators for line in schema_line(each)]
    lines += ["", *block([f"STABLE_TORCH_LIBRARY_FRAGMENT({namespace}, m) {{"], schemas)]
    if kernels:
        entries = [
            f"m.impl({message(each.facts.name)}, TORCH_BOX(&{namespace}::{each.name}_npu));"
            for each in kernels
        ]
        lines += [
            "",
            *block([f"STABLE_TORCH_LIBRARY_IMPL({namespace}, PrivateUse1, m) {{"], entries),
        ]
    return "\n".join(lines) + "\n"


class StableKernel:
    """An operator that calls an aclnn function."""

    def __init__(self, facts: OperatorFacts, name: str, namespace: str) -> None:
        self.facts = facts
        self.name = name
        self.qualified = f"{namespace}::{facts.name}"
        self.where = f"{facts.operator.place}, operator {self.qualified}"
        self.scope = Scope(facts.schema, symbolic=False)
        self.new = [output for output in facts.outputs if output.is_new]
        self.returned = sorted(
            (output for output in facts.outputs if output.result is not None),
            key=lambda output: output.result or 0,
        )

    @property
    def result(self) -> str:
        """The type that the kernel returns."""
        types = [plain_type(result.type) for result in self.facts.schema.results]
        if len(types) == 1:
            return types[0]
        return f"std::tuple<{', '.join(types)}>" if types else "void"


def in_stable_words(text: str) -> str:
    """Return a parameter's value in the words of the stable headers."""
    text = text.replace(".guard_int(__FILE__, __LINE__)", "").replace(
        "at::Scalar(", "aclnn::Scalar("
    )
    text = text.replace("ConvertType(", "aclnn::acl_dtype(")
    return re.sub(r"\b(?:floats|bools|text_of|defined_or_not)\((\w+)\)", r"\1", text)


def kernel_function(kernel: StableKernel) -> list[str]:
    """Return the NPU kernel: check, allocate, call."""
    facts = kernel.facts
    assert facts.call is not None
    names = Locals(facts.schema)
    device, guard, function = (names.fresh(each) for each in ("device", "guard", "function"))
    copy = names.fresh("written")
    tensors = tensor_arguments(facts)
    variables = {output.name: names.fresh(safe(output.name)) for output in kernel.new}
    listed = ", ".join(message(name) for name in tensors)
    body = flow(
        f"const Device {device} = common_device(",
        [message(kernel.qualified), f"{{{listed}}}", *(safe(name) for name in tensors)],
        ");",
    )
    body += checks(facts, kernel.scope, kernel.qualified, where=kernel.where)
    body.append(f"const torch::stable::accelerator::DeviceGuard {guard}({device}.index());")
    for output in kernel.new:
        where = f"{kernel.where}, output {output.name!r}"
        sizes = shape(output.shape, kernel.scope, where=where)
        values = [sizes, dtype(output.dtype, kernel.scope, where=where), device]
        if output.count is None:
            body += flow(f"Tensor {variables[output.name]} = empty(", values, ");")
        else:
            number = count(output.count, kernel.scope)
            body += fill_list(variables[output.name], number, values, "Tensor")
    for name in facts.clones:
        variables[name] = names.fresh(f"new_{name}")
        body.append(f"const auto {variables[name]} = {write_clone(facts.argument(name))};")
    back: list[str] = []
    for name, layout in facts.operator.layouts.items():
        if layout == "contiguous" and name not in variables and facts.schema.argument(name):
            variables[name] = names.fresh(f"{name}_contiguous")
            plain = facts.argument(name).type
            whole = "torch::stable::" if plain.is_tensor and not plain.optional else ""
            body.append(f"auto {variables[name]} = {whole}contiguous({safe(name)});")
            if facts.argument(name).is_written:
                back += write_back(safe(name), variables[name], copy, optional=plain.optional)
    body.append(f"static const aclnn::Function {function}({message(facts.call.function)});")
    parameters = [
        in_stable_words(
            parameter_value(each, facts, variables, operator=kernel.qualified, where=kernel.where)
        )
        for each in facts.call.parameters
    ]
    body += flow("aclnn::call(", [function, device, *parameters], ");")
    body += [*back, *results(kernel, variables)]
    used = words("\n".join(body))
    taken = [declare(argument, used) for argument in facts.schema.arguments]
    return block(flow(f"{kernel.result} {kernel.name}_npu(", taken, ") {", 0), body)


def write_back(name: str, made: str, copy: str, *, optional: bool) -> list[str]:
    """Return the statements that copy what was made contiguous into a written argument."""
    star = "*" if optional else ""
    asked = f"{name}.has_value() && !{name}->" if optional else f"!{name}."
    lines = [f"Tensor {copy} = {star}{name};", f"torch::stable::copy_({copy}, {star}{made});"]
    return block([f"if ({asked}is_contiguous()) {{"], lines)


def write_clone(argument: Argument) -> str:
    """Return the expression that clones an argument."""
    name = safe(argument.name)
    if argument.type.is_list:
        return f"clone_all({name})"
    if argument.type.optional:
        whole = f"std::optional<Tensor>(torch::stable::clone(*{name}))"
        return f"{name}.has_value() ? {whole} : std::nullopt"
    return f"torch::stable::clone({name})"


def declare(argument: Argument, used: set[str]) -> str:
    """Return a parameter; its name is a comment where the body does not use it."""
    plain = plain_type(argument.type)
    kind = plain if plain in BY_VALUE else f"const {plain}&"
    name = safe(argument.name)
    return f"{kind} {name if name in used else f'/*{name}*/'}"


def results(kernel: StableKernel, variables: Mapping[str, str]) -> list[str]:
    """Return the return statement; nothing for an operator without results."""
    values = []
    for output in kernel.returned:
        if output.argument is None:
            values.append(variables[output.name])
        elif output.argument in kernel.facts.clones:
            values.append(variables[output.argument])
        else:
            values.append(safe(output.argument))
    if not values:
        return []
    return [f"return {values[0]};"] if len(values) == 1 else flow("return {", values, "};")
