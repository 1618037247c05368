"""The unit that makes mutating operators functional: call the functional twin, then replace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.kit.declare.reserved import safe
from opwright.kit.declare.schema import Base
from opwright.kit.emit.cpp.layout import block, flow, message
from opwright.kit.emit.cpp.names import Locals
from opwright.kit.emit.cpp.operators import registrations, tensor_arguments
from opwright.kit.emit.cpp.types import declare
from opwright.kit.emit.cpp.units import list_mutating, write_namespaced

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opwright.kit.emit.cpp.operators import OperatorCode

__all__ = ["functionalization_unit"]

IMPL = "at::functionalization::impl"


def functionalization_unit(
    codes: Sequence[OperatorCode], by_name: Mapping[str, OperatorCode], namespace: str
) -> str | None:
    """Return functionalization.cpp; None if no operator has a functional twin.

    Parameters
    ----------
    by_name
        All operators of the set, among them the twins.
    """
    with_twin = [code for code in list_mutating(codes) if code.facts.functional_twin in by_name]
    if not with_twin:
        return None
    inner = [
        line
        for code in with_twin
        for line in kernel(code, by_name[code.facts.functional_twin or ""])
    ]
    entries = {code.facts.name: f"&{code.name}_functionalize" for code in with_twin}
    head = [
        "// functionalization.cpp: a mutation becomes the call of a functional twin.",
        "#include <ATen/FunctionalTensorWrapper.h>",
        "#include <ATen/core/LegacyTypeDispatch.h>",
        "#include <torch/library.h>",
        "",
        '#include "handles.h"',
    ]
    return write_namespaced(
        namespace, head, inner, registrations(namespace, "Functionalize", entries)
    )


def kernel(code: OperatorCode, twin: OperatorCode) -> list[str]:
    """Return the kernel of one operator."""
    names = Locals(code.facts.schema)
    mutated = [safe(argument.name) for argument in code.facts.schema.mutated]
    plain = {name: names.fresh(f"plain_{safe(name)}") for name in tensor_arguments(code.facts)}
    guard = f"const at::AutoDispatchSkipFunctionalize {names.fresh('guard')};"
    body = [*write_not_functional(code, mutated, guard), *unwrap(code, plain)]
    values = [plain.get(a.name, safe(a.name)) for a in code.facts.schema.arguments]
    results = names.fresh("results")
    call = flow(f"return {twin.name}().call(", values, ");")
    body += block([f"auto {results} = [&] {{"], [guard, *call], "}();")
    count = len(twin.facts.schema.results)
    own = count - len(mutated)
    for index, name in enumerate(mutated):
        value = results if count == 1 else f"std::get<{own + index}>({results})"
        body += write_replacement(name, value, optional=is_optional_tensor(code, index))
    body += write_return(code, twin, results)
    head = flow(
        f"{code.result} {code.name}_functionalize(",
        [declare(a, where=code.where) for a in code.facts.schema.arguments],
        ") {",
        0,
    )
    return [*block(head, body), ""]


def is_optional_tensor(code: OperatorCode, index: int) -> bool:
    """Return whether a written argument is a tensor that may be None."""
    written = code.facts.schema.mutated[index].type
    return written.is_tensor and written.optional


def write_replacement(name: str, value: str, *, optional: bool) -> list[str]:
    """Return the statements that give a written argument its new value."""
    tensor, new = (f"*{name}", f"*{value}") if optional else (name, value)
    lines = [
        f"{IMPL}::replace_({tensor}, {new});",
        f"{IMPL}::commit_update({tensor});",
        f"{IMPL}::sync({tensor});",
    ]
    return block([f"if ({name}.has_value()) {{"], lines) if optional else lines


def write_not_functional(code: OperatorCode, mutated: Sequence[str], guard: str) -> list[str]:
    """Return the branch for calls whose written tensors are plain: those run as they are."""
    condition = " && ".join(f"!{IMPL}::isFunctionalTensor({name})" for name in mutated)
    others = [safe(name) for name in tensor_arguments(code.facts) if safe(name) not in mutated]
    checks = [
        line
        for name in others
        for line in flow(
            "TORCH_CHECK(",
            [
                f"!{IMPL}::isFunctionalTensor({name})",
                message(
                    f"{code.qualified}: argument '{name}' is functional, but what is written is not"
                ),
            ],
            ");",
        )
    ]
    call = flow(
        f"{'return ' if code.result != 'void' else ''}{code.name}().call(", code.arguments, ");"
    )
    end = ["return;"] if code.result == "void" else []
    return block([f"if ({condition}) {{"], [*checks, guard, *call, *end])


def unwrap(code: OperatorCode, plain: Mapping[str, str]) -> list[str]:
    """Return the statements that take the plain tensors out."""
    lines: list[str] = []
    for name, variable in plain.items():
        argument = code.facts.argument(name)
        lines.append(f"{IMPL}::sync({safe(name)});")
        kind = (
            "const auto" if argument.type.is_list or argument.type.optional else "const at::Tensor"
        )
        lines.append(f"{kind} {variable} = {IMPL}::from_functional_tensor({safe(name)});")
    return lines


def write_return(code: OperatorCode, twin: OperatorCode, results: str) -> list[str]:
    """Return the return statement: new tensors are wrapped, written arguments are themselves."""
    values = []
    count = len(twin.facts.schema.results)
    new = [output.name for output in code.new]
    for output in code.returned:
        if output.argument is not None:
            values.append(safe(output.argument))
            continue
        place = results if count == 1 else f"std::get<{new.index(output.name)}>({results})"
        is_tensor = output.type.base is Base.TENSOR
        values.append(f"{IMPL}::to_functional_tensor({place})" if is_tensor else place)
    if not values:
        return []
    return [f"return {values[0]};"] if len(values) == 1 else flow("return {", values, "};")
