"""The generated units: schemas, kernels of gen_opapi, registrations, Meta kernels, derivatives."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from opwright.kit.declare.reserved import safe
from opwright.kit.declare.rules import Cpp, ShapeFunction
from opwright.kit.declare.schema import Base
from opwright.kit.emit.cpp.autograd import autograd_unit
from opwright.kit.emit.cpp.helpers import tensors_header
from opwright.kit.emit.cpp.layout import block, flow, message
from opwright.kit.emit.cpp.names import Locals, unique_names
from opwright.kit.emit.cpp.operators import OperatorCode, allocate, meta, registrations
from opwright.kit.emit.cpp.units import handles_header
from opwright.kit.emit.header import with_header
from opwright.kit.op_plugin.entries import NAMESPACE
from opwright.kit.op_plugin.signatures import signature
from opwright.kit.op_plugin.structured import structured_kernel

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from opwright.kit.declare.schema import Argument
    from opwright.kit.op_plugin.entries import Entries, Entry

__all__ = ["AUTOGRAD", "SOURCES", "emit_units", "has_meta"]

SOURCES = "csrc"
AUTOGRAD = "autograd.cpp"
HANDLE = re.compile(r"\b(\w+)\(\)\.(?:call|redispatch)\(")
# Kernels for these bring their own autograd.
OF_AUTOGRAD = frozenset({"AutogradPrivateUse1", "CompositeImplicitAutograd"})
GUARD = "#include <ATen/DeviceGuard.h>\n"
HERE = "__FILE__, __LINE__"


def has_meta(entry: Entry) -> bool:
    """Return whether the YAML says enough for a Meta kernel: rules of sizes that are no C++."""
    return entry.gen is not None and not any(
        output.is_new
        and (isinstance(output.shape, Cpp | ShapeFunction) or isinstance(output.dtype, Cpp))
        for output in entry.facts.outputs
    )


def emit_units(
    entries: Entries, source: str, *, python_meta: Collection[str], headers: Sequence[str] = ()
) -> Mapping[str, str]:
    """Return sources and their headers.

    Parameters
    ----------
    python_meta
        The operators whose Meta functions are in Python: these get none here.
    headers
        The extension's own, which have the functions that C++ in the YAML calls.
    """
    names = unique_names(entries.facts)
    codes = {
        each.name: OperatorCode(each, names[each.name], NAMESPACE)
        for each in entries.facts.operators
    }
    own = [(entry, codes[entry.facts.name]) for entry in entries.entries]
    with_meta = [
        code for entry, code in own if has_meta(entry) and code.facts.name not in python_meta
    ]
    units = {"operators.cpp": operators_unit(own, with_meta, headers)}
    differentiable = [code for _, code in own if code.facts.autograd is not None]
    derivatives = (
        autograd_unit(differentiable, codes, NAMESPACE, formulas=True) if differentiable else None
    )
    if derivatives is not None:
        units[AUTOGRAD] = derivatives
    whole = "\n".join(units.values())
    handles = set(HANDLE.findall(whole))  # once: a thousand operators make a long text
    called = [code for code in codes.values() if code.name in handles]
    if called:
        units["handles.h"] = handles_header(called, NAMESPACE)
    units["tensors.h"] = tensors_header(NAMESPACE, [whole])
    return {
        f"{SOURCES}/{name}": with_header(text, source=source, comment="//")
        for name, text in sorted(units.items())
    }


def operators_unit(
    own: Sequence[tuple[Entry, OperatorCode]],
    with_meta: Sequence[OperatorCode],
    headers: Sequence[str],
) -> str:
    """Return the unit with everything but derivatives."""
    generated = [
        entry for entry, _ in own if entry.gen is not None and entry.kernels[0] == "op_api"
    ]
    absent = [entry for entry, _ in own if "acl_op" in entry.kernels]
    own_headers = ["op_plugin/AclOpsInterface.h", "op_plugin/OpApiInterface.h"]
    # It takes two seconds to compile, which kernels written by hand need elsewhere.
    own_headers += ["op_plugin/utils/op_api_common.h"] * bool(generated)
    own_headers += headers if generated else []
    lines = [
        "// operators.cpp: schemas, kernels of gen_opapi, registrations, Meta kernels.",
        "#include <ATen/DeviceGuard.h>",
        "#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>",
        "#include <torch/library.h>",
        "",
        *(f'#include "{header}"' for header in (*own_headers, "tensors.h")),
        "",
    ]
    if generated:
        lines += ["namespace op_api {", "using namespace op_infer;"]
        lines += ["using npu_preparation = at_npu::native::OpPreparation;", ""]
        lines += [line for entry in generated for line in structured_kernel(entry)]
        lines += ["}  // namespace op_api", ""]
    if absent:
        lines += ["namespace acl_op {", ""]
        lines += [line for entry in absent for line in write_absent_kernel(entry)]
        lines += ["}  // namespace acl_op", ""]
    lines += [f"namespace {NAMESPACE} {{", "namespace {", ""]
    for entry, code in own:
        lines += wrapper(entry, code)
    for code in with_meta:
        lines += [*allocate(code), ""]
        lines += [] if code.is_meta_itself else [*meta(code), ""]
    lines += [
        "}  // namespace",
        "",
        *write_registrations(own, with_meta),
        f"}}  // namespace {NAMESPACE}",
    ]
    text = "\n".join(lines) + "\n"
    if "at::native::result_type(" in text:
        text = text.replace(GUARD, f"{GUARD}#include <ATen/native/TypeProperties.h>\n", 1)
    return text


def write_absent_kernel(entry: Entry) -> list[str]:
    """Return what stands for an aclop kernel until a file defines it."""
    declared = signature(entry)
    head = flow(
        f"__attribute__((weak)) {declared.result} {declared.name}(",
        [f"{kind} /*{name}*/" for kind, name in declared.parameters],
        ") {",
        0,
    )
    text = (
        f"{NAMESPACE}::{entry.facts.name}: the aclnn function is not there, and no file of this "
        f"extension defines acl_op::{declared.name}"
    )
    return [*block(head, [f"TORCH_CHECK(false, {message(text)});"]), ""]


def wrapper(entry: Entry, code: OperatorCode) -> list[str]:
    """Return the kernel that the dispatcher calls."""
    # One that is always there comes first.
    tensors = sorted(
        (a for a in entry.schema.arguments if a.type.has_tensors and not a.type.optional_elements),
        key=lambda argument: (argument.type.optional, argument.type.is_list),
    )
    body = []
    if tensors:
        guard = Locals(entry.schema).fresh("guard")
        body = [f"const c10::OptionalDeviceGuard {guard}(at::device_of({safe(tensors[0].name)}));"]
    values = [pass_argument(argument, entry) for argument in entry.schema.arguments]
    before = "" if code.result == "void" else "return "
    body += flow(f"{before}{entry.kernels[0]}::{signature(entry).name}(", values, ");")
    return [*code.function(code.result, f"{code.name}_npu", body), ""]


def pass_argument(argument: Argument, entry: Entry) -> str:
    """Return an argument as the function of the kernel takes it."""
    name, kind = safe(argument.name), argument.type
    if argument.is_written and kind.is_tensor and not kind.optional:
        return f"const_cast<at::Tensor&>({name})"
    if kind.base is not Base.SYMINT or entry.symint:
        return name
    if kind.is_list:
        numbers = f"C10_AS_INTARRAYREF_SLOW({'*' * kind.optional}{name})"
        whole = f"at::OptionalIntArrayRef({numbers})"
        return f"{name}.has_value() ? {whole} : std::nullopt" if kind.optional else numbers
    if kind.optional:
        return f"{name}.has_value() ? std::optional({name}->guard_int({HERE})) : std::nullopt"
    return f"{name}.guard_int({HERE})"


def write_registrations(
    own: Sequence[tuple[Entry, OperatorCode]], with_meta: Sequence[OperatorCode]
) -> list[str]:
    """Return schemas and registrations.

    Operators without derivative get PyTorch's fallbacks: results that raise in backward, and
    versions that count what is written.
    """
    schemas: list[str] = []
    for _, code in own:
        tags = ", ".join(f"at::Tag::{tag}" for tag in code.facts.tags)
        schemas += flow("m.def(", [message(str(code.facts.schema)), f"{{{tags}}}"], ");")
    lines = [*block([f"TORCH_LIBRARY_FRAGMENT({NAMESPACE}, m) {{"], schemas), ""]
    plain = [
        code.facts.name
        for entry, code in own
        if code.facts.autograd is None and entry.key not in OF_AUTOGRAD
    ]
    written = [code.facts.name for _, code in own if code.facts.schema.mutated]
    fallback = "torch::autograd::autogradNotImplemented{}Fallback()"
    tables = {
        **{
            key: {code.facts.name: f"&{code.name}_npu" for entry, code in own if entry.key == key}
            for key in dict.fromkeys(entry.key for entry, _ in own)
        },
        "Meta": {code.facts.name: f"&{code.name}_meta" for code in with_meta},
        "Autograd": dict.fromkeys(plain, fallback.format("")),
        "ADInplaceOrView": dict.fromkeys(written, fallback.format("InplaceOrView")),
    }
    for key, table in tables.items():
        lines += registrations(NAMESPACE, key, table) if table else []
    return lines
