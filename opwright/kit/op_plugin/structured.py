"""`gen_opapi` of an entry -> its kernel: allocate what is new, call the aclnn function, return.

Sizes and dtypes that are no names are C++, and stand in the kernel as the file has them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from opwright.kit.declare.reserved import safe
from opwright.kit.declare.schema import Base
from opwright.kit.emit.cpp.layout import block, flow
from opwright.kit.formats.errors import EntryError
from opwright.kit.formats.gen_opapi import new_outputs, output_keys
from opwright.kit.op_plugin.errors import OutOfTreeError
from opwright.kit.op_plugin.signatures import signature

if TYPE_CHECKING:
    from opwright.kit.declare.schema import Argument
    from opwright.kit.formats.yaml_text import Value
    from opwright.kit.op_plugin.entries import Entry

__all__ = ["structured_kernel"]

FUNCTION = re.compile(r"[A-Za-z_]\w*")
PREPARATION = "npu_preparation"


def structured_kernel(entry: Entry) -> list[str]:
    """Return the function of an entry with gen_opapi.

    Raises
    ------
    EntryError, OutOfTreeError
        OPW-S002, OPW-O004.
    """
    gen, schema = entry.gen, entry.schema
    assert gen is not None, entry.where
    outputs = output_keys(gen)
    function, parameters = find_call(entry, gen, outputs)
    body = []
    if "acl_op" in entry.kernels:
        names = ", ".join(safe(argument.name) for argument in schema.arguments)
        body.append(f"DO_COMPATIBILITY({function}, acl_op::{signature(entry).name}({names}));")
    for name, value in new_params(gen).items():
        body.append(f"auto {name} = {value};")
    for key in outputs:
        body += prepare(entry, key, gen[key])
    body += flow("EXEC_NPU_CMD(", [function, *parameters], ");")
    body += write_return(entry, outputs)
    declared = signature(entry)
    head = flow(
        f"{declared.result} {declared.name}(",
        [f"{kind} {name}" for kind, name in declared.parameters],
        ") {",
        0,
    )
    place = entry.facts.operator.place
    return [f"// {place.file.rpartition('/')[2]}, line {place.line}", *block(head, body), ""]


def new_params(gen: Mapping[str, Value]) -> Mapping[str, Value]:
    """Return the variables that an entry adds."""
    found = gen.get("new_params")
    return found if isinstance(found, Mapping) else {}


def find_call(
    entry: Entry, gen: Mapping[str, Value], outputs: tuple[str, ...]
) -> tuple[str, list[str]]:
    """Return the aclnn function and its parameters."""
    function, *names = [part.strip() for part in str(gen["exec"]).split(",")]
    where = f"{entry.where}, gen_opapi, exec"
    if not FUNCTION.fullmatch(function):
        raise EntryError(where=where, got=repr(function), fix="begin with the aclnn function")
    arguments = {argument.name: argument for argument in entry.schema.arguments}
    known = list(dict.fromkeys([*arguments, *new_params(gen), *outputs]))
    for name in names:
        if name not in known:
            raise EntryError(
                where=where,
                got=repr(name),
                allowed=known,
                near=name,
                fix="name an argument, an output or an entry of new_params",
            )
    given = names or list(dict.fromkeys([*arguments, *outputs]))
    for name in given:
        argument = arguments.get(name)
        if argument is not None and argument.type.base is Base.STR and name not in new_params(gen):
            raise EntryError(
                where=where,
                got=f"{argument}, which EXEC_NPU_CMD does not turn into char *",
                fix=f"add new_params: {{{name}_chars: const_cast<char *>({name}.data())}} and pass "
                f"{name}_chars",
            )
    return function, [safe(name) for name in given]


def prepare(entry: Entry, key: str, described: Value) -> list[str]:
    """Return the statements that allocate an output, or check the one that the caller gives."""
    assert isinstance(described, Mapping), key
    size, dtype = described.get("size"), described.get("dtype")
    if "name" in described:
        raise OutOfTreeError(
            where=f"{entry.where}, gen_opapi, {key}, name",
            got=f"{described['name']}: names of dimensions",
            fix="remove the key: tensors with names of dimensions are not supported here",
        )
    if key in {argument.name for argument in entry.schema.arguments}:  # the caller's
        parts = [dtype_of(entry, dtype)] if dtype not in {None, key} else []
        parts += [size_of(entry, size)] if size not in {None, key} else []
        inputs = [
            safe(argument.name)
            for argument in entry.schema.arguments
            if argument.type.is_tensor and not argument.type.optional and not argument.is_written
        ]
        if not parts:
            return []
        items = [f"{{{', '.join(inputs)}}}", safe(key), *parts]
        return flow(f"{PREPARATION}::check_tensor(", items, ");")
    missing = [name for name in ("size", "dtype") if described.get(name) is None]
    if missing:
        raise EntryError(
            where=f"{entry.where}, gen_opapi, {key}",
            got=f"no {missing[0]}",
            fix=f"say what the {missing[0]} of the output is: {missing[0]}: an argument, or C++",
        )
    sizes, kind = size_of(entry, size), dtype_of(entry, dtype)
    lines = []
    if sizes.startswith("{"):
        lines.append(f"const c10::SmallVector<int64_t, 8> {key}_size = {sizes};")
        sizes = f"{key}_size"
    options = f"{model(entry)}.options().dtype({kind})"
    head = f"at::Tensor {safe(key)} = {PREPARATION}::apply_tensor_without_format("
    return [*lines, *flow(head, [sizes, options], ");")]


def model(entry: Entry) -> str:
    """Return the tensor whose device the outputs have."""
    for argument in entry.schema.arguments:
        if argument.type.is_tensor and not argument.type.optional:
            return safe(argument.name)
    for argument in entry.schema.arguments:
        if argument.type.base is Base.TENSOR and argument.type.is_list:
            return f"{safe(argument.name)}[0]"
    raise EntryError(
        where=f"{entry.where}, gen_opapi",
        got="no tensor argument that is always there, so nothing decides the device",
        fix="write the kernel by hand",
    )


def size_of(entry: Entry, value: Value) -> str:
    """Return the sizes of an output."""
    text = str(value).strip()
    argument = entry.schema.argument(text)
    if argument is None:
        return text
    return write_method_call(argument, "sizes") if argument.type.is_tensor else safe(text)


def dtype_of(entry: Entry, value: Value) -> str:
    """Return the dtype of an output."""
    text = str(value).strip()
    argument = entry.schema.argument(text)
    if argument is None:
        return text
    if argument.type.is_tensor:
        return write_method_call(argument, "scalar_type")
    name = safe(text)
    if argument.type.is_list and argument.type.base is Base.TENSOR:
        return f"{name}[0].scalar_type()"
    return f"{name}.value()" if argument.type.optional else name


def write_method_call(argument: Argument, method: str) -> str:
    """Return the call of a method of a tensor."""
    return f"{safe(argument.name)}{'->' if argument.type.optional else '.'}{method}()"


def write_return(entry: Entry, outputs: tuple[str, ...]) -> list[str]:
    """Return the return statement; nothing for an operator without results."""
    schema = entry.schema
    new = dict(zip(new_outputs(schema), outputs, strict=False))
    values = []
    for result, name in zip(schema.results, schema.output_names(), strict=True):
        argument = schema.aliased_argument(result)
        values.append(safe(new[name] if argument is None else argument.name))
    if not values:
        return []
    if len(values) == 1:
        return [f"return {values[0]};"]
    return flow(f"return {signature(entry).result}(", values, ");")
