"""The unit with schemas, Meta kernels and NPU kernels, and what else needs no autograd headers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from opwright.kit.declare.reserved import safe
from opwright.kit.declare.schema import Base
from opwright.kit.declare.schema_text import split
from opwright.kit.emit.cpp.checks import checks
from opwright.kit.emit.cpp.errors import CppTypeError
from opwright.kit.emit.cpp.layout import block, flow, message
from opwright.kit.emit.cpp.names import Locals
from opwright.kit.emit.cpp.parameters import parameter_value
from opwright.kit.emit.cpp.types import declare, result_type
from opwright.kit.expressions.print_cpp import Scope, count, dtype, shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from opwright.kit.derive.facts import OperatorFacts, Output

__all__ = [
    "OperatorCode",
    "operator_code",
    "registrations",
    "schema_line",
    "tensor_arguments",
    "words",
]

# Characters of sizes that still stand in the call that allocates.
LONG = 70
RESULT_OF_MANY = "std::tuple<{}>"


class OperatorCode:
    """The functions of one operator.

    Parameters
    ----------
    name
        Its identifier in C++.
    """

    def __init__(self, facts: OperatorFacts, name: str, namespace: str) -> None:
        self.facts = facts
        self.name = name
        self.qualified = f"{namespace}::{facts.name}"
        self.where = f"{facts.operator.place}, operator {self.qualified}"
        self.new = [output for output in facts.outputs if output.is_new]
        self.returned = sorted(
            (output for output in facts.outputs if output.result is not None),
            key=lambda output: output.result or 0,
        )
        self.result = result_type(facts.schema, where=self.where)

    @property
    def is_meta_itself(self) -> bool:
        """Whether what allocates the outputs is the whole Meta kernel."""
        return len(self.new) == len(self.returned) and not self.facts.clones

    @property
    def allocation(self) -> str:
        """The name of the function that checks the arguments and allocates the new outputs."""
        if self.is_meta_itself:
            return f"{self.name}_meta"
        return f"{self.name}_outputs" if self.new else f"check_{self.name}"

    @property
    def arguments(self) -> list[str]:
        """The names of the arguments."""
        return [safe(argument.name) for argument in self.facts.schema.arguments]

    def parameters(self, body: Iterable[str]) -> list[str]:
        """Return the declarations of all parameters; what the body does not use is a comment."""
        used = words("\n".join(body))
        return [
            declare(argument, where=self.where, used=safe(argument.name) in used)
            for argument in self.facts.schema.arguments
        ]

    def function(self, result: str, name: str, body: Sequence[str]) -> list[str]:
        """Return a function that takes the operator's arguments."""
        return block(flow(f"{result} {name}(", self.parameters(body), ") {", 0), body)


STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
WORD = re.compile(r"\w+")


def words(text: str) -> set[str]:
    """Return the identifiers in C++, without what its string literals say."""
    return set(WORD.findall(STRING.sub('""', text)))


def operator_code(code: OperatorCode) -> list[str]:
    """Return the kernels of an operator that calls an aclnn function."""
    lines = [*allocate(code), ""]
    if not code.is_meta_itself:
        lines += [*meta(code), ""]
    return [*lines, *npu(code), ""]


def tensor_arguments(facts: OperatorFacts) -> list[str]:
    """Return the names of arguments that are or have tensors."""
    return [a.name for a in facts.schema.arguments if a.type.has_tensors]


def device(code: OperatorCode) -> str:
    """Return the expression for the device of the call, which checks that it is one."""
    names = tensor_arguments(code.facts)
    if not names:
        raise CppTypeError(
            where=code.where,
            got="no tensor argument, so nothing decides the device",
            fix="give the operator a tensor argument",
        )
    if len(names) == 1 and is_plain_tensor(code.facts, names[0]):
        return f"{safe(names[0])}.device()"
    texts = ", ".join(message(name) for name in names)
    tensors = ", ".join(safe(name) for name in names)
    return f"common_device({message(code.qualified)}, {{{texts}}}, {tensors})"


def is_plain_tensor(facts: OperatorFacts, name: str) -> bool:
    """Return whether an argument is a tensor that is always there."""
    argument_type = facts.argument(name).type
    return argument_type.is_tensor and not argument_type.optional


def call_statement(before: str, call: str) -> list[str]:
    """Return a statement that calls common_device, in several lines if it is long."""
    function, _, rest = call.partition("(")
    name, _, rest = rest.partition(", {")
    texts, _, tensors = rest.partition("}, ")
    items = [name, f"{{{texts}}}", *tensors.removesuffix(")").split(", ")]
    return flow(f"{before}{function}(", items, ");")


def new_output(output: Output, code: OperatorCode, device_name: str) -> tuple[list[str], str]:
    """Return the allocation of an output, and what has to stand before it."""
    where = f"{code.where}, output {output.name!r}"
    sizes = shape(output.shape, Scope(code.facts.schema), where=where)
    kind = dtype(output.dtype, Scope(code.facts.schema), where=where)
    if output.count is not None:
        variable = Locals(code.facts.schema, ["device", "i"]).fresh(safe(output.name))
        number = count(output.count, Scope(code.facts.schema))
        lines = fill_list(variable, number, [sizes, kind, device_name], "at::Tensor")
        return lines, variable
    if len(sizes) <= LONG:
        return [], f"empty({sizes}, {kind}, {device_name})"
    variable = Locals(code.facts.schema, ["device"]).fresh(f"{output.name}_sizes")
    before = f"const c10::SymDimVector {variable} = "
    if not sizes.startswith("{"):
        return [f"{before}{sizes};"], f"empty({variable}, {kind}, {device_name})"
    items = split(sizes.removeprefix("{").removesuffix("}"))
    return flow(f"{before}{{", items, "};"), f"empty({variable}, {kind}, {device_name})"


def fill_list(variable: str, number: str, tensor: Sequence[str], kind: str) -> list[str]:
    """Return the statements that allocate a list of outputs; `i` counts them."""
    return [
        f"std::vector<{kind}> {variable};",
        *block(
            [f"for (int64_t i = 0; i < {number}; ++i) {{"],
            flow(f"{variable}.push_back(empty(", tensor, "));"),
        ),
    ]


def check_outputs(code: OperatorCode) -> None:
    """Raise unless all new outputs can be allocated before the call."""
    for output in code.new:
        if output.type.base is not Base.TENSOR or output.type.is_list == (output.count is None):
            raise CppTypeError(
                where=f"{code.where}, output {output.name!r}",
                got=f"a new {output.type}",
                fix="return tensors, or a list of them with a rule for their number",
            )


def allocate(code: OperatorCode) -> list[str]:
    """Return the function that checks the arguments and allocates the new outputs."""
    check_outputs(code)
    body: list[str] = []
    variable = Locals(code.facts.schema).fresh("device")
    common = device(code)
    if common.startswith("common_device("):
        body += call_statement(f"const at::Device {variable} = " if code.new else "", common)
        common = variable
    body += checks(code.facts, Scope(code.facts.schema), code.qualified, where=code.where)
    allocations = [new_output(output, code, common) for output in code.new]
    body += [line for before, _ in allocations for line in before]
    values = [value for _, value in allocations]
    if len(values) == 1:
        body.append(f"return {values[0]};")
    elif values:
        body += flow("return {", values, "};")
    types = [allocated_type(output) for output in code.new]
    result = types[0] if len(types) == 1 else RESULT_OF_MANY.format(", ".join(types))
    return code.function(result if types else "void", code.allocation, body)


def allocated_type(output: Output) -> str:
    """Return the type of a new output."""
    return "at::Tensor" if output.count is None else "std::vector<at::Tensor>"


def output_variables(code: OperatorCode) -> dict[str, str]:
    """Return the names of the local variables for new outputs and clones."""
    names = Locals(code.facts.schema, ["guard", "function"])
    variables = {output.name: names.fresh(safe(output.name)) for output in code.new}
    for name in code.facts.clones:
        variables[name] = names.fresh(f"new_{name}")
    return variables


def new_tensors(code: OperatorCode, variables: Mapping[str, str]) -> list[str]:
    """Return the statements that check, allocate and clone."""
    call = flow(f"{code.allocation}(", code.arguments, ");")
    names = [variables[output.name] for output in code.new]
    lines: list[str] = []
    if not names:
        lines += call
    else:
        single = f"const {allocated_type(code.new[0])} {names[0]} = " if code.new else ""
        head = single if len(names) == 1 else f"auto [{', '.join(names)}] = "
        lines += flow(f"{head}{code.allocation}(", code.arguments, ");")
    for name in code.facts.clones:
        lines.append(clone(code, name, variables[name]))
    return lines


def clone(code: OperatorCode, name: str, variable: str) -> str:
    """Return the statement that clones an argument."""
    value = code.facts.argument(name).type
    if value.is_list:
        return f"const std::vector<at::Tensor> {variable} = clone_all({safe(name)});"
    if value.optional:
        whole = f"std::optional<at::Tensor>({safe(name)}->clone())"
        return f"const auto {variable} = {safe(name)}.has_value() ? {whole} : std::nullopt;"
    return f"const at::Tensor {variable} = {safe(name)}.clone();"


def results(code: OperatorCode, variables: Mapping[str, str]) -> list[str]:
    """Return the return statement; nothing for an operator without results."""
    values = []
    for output in code.returned:
        argument = output.argument
        if argument is not None and argument in code.facts.clones:
            values.append(variables[argument])
        else:
            values.append(variables[output.name] if argument is None else safe(argument))
    if not values:
        return []
    return [f"return {values[0]};"] if len(values) == 1 else flow("return {", values, "};")


def meta(code: OperatorCode) -> list[str]:
    """Return the Meta kernel where it is more than the allocation."""
    variables = output_variables(code)
    body = [*new_tensors(code, variables), *results(code, variables)]
    return code.function(code.result, f"{code.name}_meta", body)


def npu(code: OperatorCode) -> list[str]:
    """Return the NPU kernel."""
    call = code.facts.call
    assert call is not None
    names = Locals(code.facts.schema, [output.name for output in code.new])
    guard, function = names.fresh("guard"), names.fresh("function")
    variables = output_variables(code)
    body = [
        f"const c10::DeviceGuard {guard}({find_guarded_device(code)});",
        *new_tensors(code, variables),
    ]
    copies, back = contiguous_arguments(code, variables)
    body += copies
    for name in code.facts.drawn:
        variables[name] = names.fresh("drawn")
        body.append(f"const aclnn::Drawn {variables[name]} = aclnn::draw({safe(name)});")
    body.append(f"static const aclnn::Function {function}({message(call.function)});")
    values = [
        parameter_value(parameter, code.facts, variables, operator=code.qualified, where=code.where)
        for parameter in call.parameters
    ]
    body += flow("aclnn::call(", [function, *values], ");")
    body += back
    body += results(code, variables)
    return code.function(code.result, f"{code.name}_npu", body)


def find_guarded_device(code: OperatorCode) -> str:
    """Return the device that the kernel runs on."""
    for name in tensor_arguments(code.facts):
        if is_plain_tensor(code.facts, name):
            return f"{safe(name)}.device()"
    return device(code)


def list_copied_names(code: OperatorCode) -> list[str]:
    """Return the arguments that the aclnn function wants contiguous."""
    return [
        name
        for name, layout in code.facts.operator.layouts.items()
        if layout == "contiguous"
        and name not in code.facts.clones
        and code.facts.schema.argument(name) is not None
    ]


def contiguous_arguments(
    code: OperatorCode, variables: dict[str, str]
) -> tuple[list[str], list[str]]:
    """Return the statements that make arguments contiguous, and those that write them back.

    The variables are entered into `variables`.
    """
    names = Locals(code.facts.schema, [*variables.values(), "guard", "function"])
    before: list[str] = []
    after: list[str] = []
    for name in list_copied_names(code):
        argument = code.facts.argument(name)
        variable = names.fresh(f"{name}_contiguous")
        if is_plain_tensor(code.facts, name):
            before.append(f"const at::Tensor {variable} = {safe(name)}.contiguous();")
        else:
            before.append(f"const auto {variable} = contiguous({safe(name)});")
        if argument.is_written and argument.type.optional:
            after += block(
                [f"if ({safe(name)}.has_value() && !{variable}->is_same(*{safe(name)})) {{"],
                [f"{safe(name)}->copy_(*{variable});"],
            )
        elif argument.is_written:
            after += block(
                [f"if (!{variable}.is_same({safe(name)})) {{"],
                [f"{safe(name)}.copy_({variable});"],
            )
        variables[name] = variable
    return before, after


def schema_line(facts: OperatorFacts) -> list[str]:
    """Return the definition of the schema."""
    texts = ", ".join(f"at::Tag::{tag}" for tag in facts.tags)
    return flow("m.def(", [message(str(facts.schema)), f"{{{texts}}}"], ");")


def registrations(namespace: str, key: str, entries: Mapping[str, str]) -> list[str]:
    """Return the registration of kernels: full names of operators -> expressions."""
    lines = [f"m.impl({message(name)}, {kernel});" for name, kernel in entries.items()]
    return [*block([f"TORCH_LIBRARY_IMPL({namespace}, {key}, m) {{"], lines), ""]
