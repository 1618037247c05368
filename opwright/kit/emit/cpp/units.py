"""Units of the classic build: includes, functions, registrations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.kit.declare.reserved import safe
from opwright.kit.emit.cpp.layout import COLUMNS, block, flow
from opwright.kit.emit.cpp.names import Locals
from opwright.kit.emit.cpp.operators import OperatorCode, operator_code, registrations, schema_line
from opwright.kit.emit.cpp.types import find_taken_type

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "handles_header",
    "is_out_variant",
    "list_mutating",
    "operators_unit",
    "with_kernels",
    "write_namespaced",
]


def write_namespaced(
    namespace: str, head: Sequence[str], inner: Sequence[str], outer: Sequence[str]
) -> str:
    """Return a unit: includes, functions in an anonymous namespace, registrations."""
    lines = [*head, "", f"namespace {namespace} {{"]
    if inner:
        lines += ["namespace {", "", *inner, "}  // namespace"]
    return "\n".join([*lines, "", *outer, f"}}  // namespace {namespace}"]) + "\n"


def is_out_variant(code: OperatorCode) -> bool:
    """Return whether the operator writes keyword-only arguments, as out= does."""
    return any(a.is_out for a in code.facts.schema.arguments)


def with_kernels(codes: Sequence[OperatorCode]) -> list[OperatorCode]:
    """Return the operators that call an aclnn function; the others are Python's matter."""
    return [code for code in codes if code.facts.call is not None]


def list_mutating(codes: Sequence[OperatorCode]) -> list[OperatorCode]:
    """Return the operators that write arguments and call an aclnn function."""
    return [code for code in with_kernels(codes) if code.facts.schema.mutated]


def operators_unit(codes: Sequence[OperatorCode], namespace: str) -> str:
    """Return operators.cpp.

    Operators without backward get PyTorch's fallback, whose results raise in backward.
    """
    kernels = with_kernels(codes)
    inner = [line for code in kernels for line in operator_code(code)]
    inner += [line for code in list_mutating(codes) for line in version_kernel(code)]
    fallback = [
        code for code in kernels if code.facts.autograd is None and not code.facts.schema.mutated
    ]
    schemas = [line for code in codes for line in schema_line(code.facts)]
    outer = [*block([f"TORCH_LIBRARY_FRAGMENT({namespace}, m) {{"], schemas), ""]
    for key, suffix in (("PrivateUse1", "npu"), ("Meta", "meta")):
        entries = {code.facts.name: f"&{code.name}_{suffix}" for code in kernels}
        outer += registrations(namespace, key, entries) if entries else []
    if list_mutating(codes):
        entries = {code.facts.name: f"&{code.name}_version" for code in list_mutating(codes)}
        outer += registrations(namespace, "ADInplaceOrView", entries)
    if fallback:
        entries = {
            code.facts.name: "torch::autograd::autogradNotImplementedFallback()"
            for code in fallback
        }
        outer += registrations(namespace, "Autograd", entries)
    head = ["// operators.cpp: schemas, Meta kernels and NPU kernels."]
    if kernels:
        head.append("#include <c10/core/DeviceGuard.h>")
    if fallback:
        head.append("#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>")
    head.append("#include <torch/library.h>")
    if any("at::native::result_type(" in line for line in inner):
        head.insert(1, "#include <ATen/native/TypeProperties.h>")
    own = ["aclnn_call.h"] * bool(kernels) + ["handles.h"] * bool(list_mutating(codes))
    own += ["tensors.h"] * bool(kernels)
    head += ["", *(f'#include "{name}"' for name in own)] if own else []
    return write_namespaced(namespace, head, inner, outer)


def version_kernel(code: OperatorCode) -> list[str]:
    """Return the kernel that counts a mutation, so that autograd notices it."""
    names = Locals(code.facts.schema)
    keys, results = names.fresh("keys"), names.fresh("results")
    lines = [
        f"{safe(a.name)}.unsafeGetTensorImpl()->bump_version();"
        for a in code.facts.schema.mutated
        if not a.type.is_list and not a.type.optional
    ]
    for argument in code.facts.schema.mutated:
        if argument.type.is_list:
            loop = f"for (const at::Tensor& tensor : {safe(argument.name)}) {{"
            lines += block([loop], ["tensor.unsafeGetTensorImpl()->bump_version();"])
        elif argument.type.optional:
            name = safe(argument.name)
            lines += block(
                [f"if ({name}.has_value()) {{"], [f"{name}->unsafeGetTensorImpl()->bump_version();"]
            )
    below = f"{keys} & c10::after_ADInplaceOrView_keyset"
    call = flow(f"{code.name}().redispatch(", [below, *code.arguments], ");")
    if code.result == "void":
        body = [*call, *lines]
    else:
        call = flow(
            f"{code.result} {results} = {code.name}().redispatch(", [below, *code.arguments], ");"
        )
        body = [*call, *lines, f"return {results};"]
    head = flow(
        f"{code.result} {code.name}_version(",
        [f"c10::DispatchKeySet {keys}", *code.parameters(body)],
        ") {",
        0,
    )
    return [*block(head, body), ""]


def handles_header(codes: Sequence[OperatorCode], namespace: str) -> str:
    """Return handles.h: operators as typed handles of the dispatcher."""
    lines = [
        "// handles.h: operators of this set, called through the dispatcher.",
        "#pragma once",
        "",
        "#include <ATen/core/Tensor.h>",
        "#include <ATen/core/dispatch/Dispatcher.h>",
        "",
        f"namespace {namespace} {{",
        "",
    ]
    for code in codes:
        types = [find_taken_type(a.type, where=code.where) for a in code.facts.schema.arguments]
        signature = flow(f"using {code.name}_type = {code.result}(", types, ");", 0)
        overload = code.facts.schema.overload
        name = f"{namespace}::{code.facts.schema.name}"
        chain = [
            "c10::Dispatcher::singleton()",
            f'.findSchemaOrThrow("{name}", "{overload}")',
            f".typed<{code.name}_type>();",
        ]
        lookup = "static const auto op = "
        find = [lookup + "".join(chain)]
        if len(find[0]) + 2 > COLUMNS:
            find = [lookup.rstrip(), f"    {''.join(chain)}"]
        if len(find[-1]) + 2 > COLUMNS:
            rest = [f"{' ' * (len(lookup) + 4)}{each}" for each in chain[1:]]
            find = [lookup + chain[0], *rest]
        lines += [*signature]
        lines += block(
            [f"inline const c10::TypedOperatorHandle<{code.name}_type>& {code.name}() {{"],
            [*find, "return op;"],
        )
        lines.append("")
    return "\n".join([*lines, f"}}  // namespace {namespace}"]) + "\n"
